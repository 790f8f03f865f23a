//go:build !linux

package load

import "runtime"

// CPUs returns the numbers of the CPUs, in order.
func CPUs() ([]int, error) {
	var cpus []int
	for cpu := range runtime.NumCPU() {
		cpus = append(cpus, cpu)
	}
	return cpus, nil
}
