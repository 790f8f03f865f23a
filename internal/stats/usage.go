package stats

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sample is one reading of a server's counters. Times are whole microseconds, so that WriteUsage keeps all of it.
type Sample struct {
	At time.Time
	// CPU is the CPU time used since the server's start.
	CPU time.Duration
	// MemoryBytes is the memory in use, PeakBytes the most that was seen up to this reading, between readings too.
	MemoryBytes, PeakBytes int64
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

// UsageFile has the readings of a launch, in its folder.
const UsageFile = "usage.csv"

// usageHeader is the first line of UsageFile: microseconds since 1970, microseconds of CPU time, bytes.
const usageHeader = "unix_us,cpu_us,memory_bytes,memory_peak_bytes"

// WriteUsage writes the readings of a launch to UsageFile in its folder.
func WriteUsage(folder string, samples []Sample) error {
	var text bytes.Buffer
	text.WriteString(usageHeader + "\n")
	for _, s := range samples {
		fmt.Fprintf(&text, "%d,%d,%d,%d\n", s.At.UnixMicro(), s.CPU.Microseconds(), s.MemoryBytes, s.PeakBytes)
	}
	return os.WriteFile(filepath.Join(folder, UsageFile), text.Bytes(), 0o644)
}

// ReadUsage reads the readings of a launch, at least one, from UsageFile in its folder.
func ReadUsage(folder string) ([]Sample, error) {
	file, err := os.Open(filepath.Join(folder, UsageFile))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 || strings.Join(rows[0], ",") != usageHeader {
		return nil, fmt.Errorf("wanted the header %s and a line for each reading", usageHeader)
	}
	var samples []Sample
	for i, row := range rows[1:] {
		var numbers [4]int64
		for column, text := range row {
			if numbers[column], err = strconv.ParseInt(text, 10, 64); err != nil {
				return nil, fmt.Errorf("line %d, %s: %w", i+2, rows[0][column], err)
			}
		}
		s := Sample{At: time.UnixMicro(numbers[0]).UTC(), CPU: time.Duration(numbers[1]) * time.Microsecond, MemoryBytes: numbers[2], PeakBytes: numbers[3]}
		if i > 0 && !s.At.After(samples[i-1].At) {
			return nil, fmt.Errorf("line %d is not later than the line before it", i+2)
		}
		samples = append(samples, s)
	}
	return samples, nil
}
