//go:build !linux

package backend

import (
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// descendants lists the leader and its descendants.
func descendants(leader int) ([]int, error) {
	members := []int{leader}
	for n := 0; n < len(members); n++ {
		proc, err := process.NewProcess(int32(members[n]))
		if err != nil {
			continue // it has just ended
		}
		children, err := proc.Children()
		if err != nil {
			continue // it has none
		}
		for _, child := range children {
			members = append(members, int(child.Pid))
		}
	}
	return members, nil
}

// cpuTime sums the CPU time of the processes. That of children which have ended is not known here.
func cpuTime(pids []int) (time.Duration, error) {
	var sum time.Duration
	var read bool
	for _, pid := range pids {
		proc, err := process.NewProcess(int32(pid))
		if err != nil {
			continue // it has just ended
		}
		times, err := proc.Times()
		if err != nil {
			continue
		}
		read = true
		sum += time.Duration((times.User + times.System) * float64(time.Second))
	}
	if !read {
		return 0, errEnded
	}
	return sum, nil
}

// throttledTime is 0: there are no control groups here.
func throttledTime(int) func() (time.Duration, error) {
	return func() (time.Duration, error) { return 0, nil }
}

func residentSet(pid int) (now, peak int64, err error) {
	proc, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0, 0, errEnded
	}
	info, err := proc.MemoryInfo()
	if err != nil {
		return 0, 0, errEnded
	}
	return int64(info.RSS), int64(info.HWM), nil
}

// proportionalSet is not to be had here; the resident set, which is larger for processes that share memory, stands in.
func proportionalSet(pid int) (int64, error) {
	now, _, err := residentSet(pid)
	return now, err
}
