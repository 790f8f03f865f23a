package stats

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Sample is one reading of a server's counters.
type Sample struct {
	At time.Time
	// CPU is the CPU time used since the server's start.
	CPU time.Duration
	// MemoryBytes is the memory in use.
	MemoryBytes int64
}

// CPUBetween returns the CPU time used from start to end. Samples are in the order of time; between two of them the use is
// taken to be even. It is an error if the samples do not reach from start to end.
func CPUBetween(samples []Sample, start, end time.Time) (time.Duration, error) {
	if !start.Before(end) {
		return 0, fmt.Errorf("the window ends %s before it starts", start.Sub(end))
	}
	from, err := cpuAt(samples, start)
	if err != nil {
		return 0, err
	}
	to, err := cpuAt(samples, end)
	return to - from, err
}

func cpuAt(samples []Sample, at time.Time) (time.Duration, error) {
	i, exact := slices.BinarySearchFunc(samples, at, func(s Sample, at time.Time) int { return s.At.Compare(at) })
	switch {
	case exact:
		return samples[i].CPU, nil
	case len(samples) == 0:
		return 0, errors.New("there is no reading")
	case i == 0:
		return 0, fmt.Errorf("the first reading was %s too late", samples[0].At.Sub(at))
	case i == len(samples):
		return 0, fmt.Errorf("the last reading was %s too early", at.Sub(samples[i-1].At))
	}
	before, after := samples[i-1], samples[i]
	share := float64(at.Sub(before.At)) / float64(after.At.Sub(before.At))
	return before.CPU + time.Duration(share*float64(after.CPU-before.CPU)), nil
}
