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

	"github.com/mcp-parity/mcp-parity/internal/result"
)

// Sample is one reading of a server's counters. Times are whole microseconds, so that WriteUsage keeps all of it.
type Sample struct {
	At time.Time
	// CPU is the CPU time used since the server's start, Throttled the time for which the kernel kept it from running because of a quota.
	CPU, Throttled time.Duration
	// MemoryBytes is the memory in use, PeakBytes the most that was seen up to this reading, between readings too.
	MemoryBytes, PeakBytes int64
}

// MachineSample is one reading of the counters of the machine and of what makes the load, all since some moment before the load.
type MachineSample struct {
	At time.Time
	// Generator and Upstream are the CPU time of all load generators of the launch and of the upstream service.
	Generator, Upstream time.Duration
	// Busy is the time that CPUs of the machine were busy, without waiting for a disk; Stolen is what a hypervisor gave to others.
	Busy, Stolen time.Duration
}

func (s Sample) at() time.Time        { return s.At }
func (s MachineSample) at() time.Time { return s.At }

// reading is a row of counters.
type reading interface{ at() time.Time }

// between returns by how much a counter grew in the window. Samples are in the order of time; between two of them the growth is taken
// to be even. It is an error if the samples do not reach from the window's start to its end.
func between[R reading](samples []R, w result.Window, counter func(R) time.Duration) (time.Duration, error) {
	from, err := valueAt(samples, w.Start, counter)
	if err != nil {
		return 0, err
	}
	to, err := valueAt(samples, w.End, counter)
	return to - from, err
}

// valueAt returns a value at that time, between two samples the one on the straight line from one to the other.
func valueAt[R reading, V ~int64](samples []R, at time.Time, value func(R) V) (V, error) {
	i, exact := slices.BinarySearchFunc(samples, at, func(s R, at time.Time) int { return s.at().Compare(at) })
	switch {
	case exact:
		return value(samples[i]), nil
	case len(samples) == 0:
		return 0, errors.New("there is no reading")
	case i == 0:
		return 0, fmt.Errorf("the first reading was %s too late", samples[0].at().Sub(at))
	case i == len(samples):
		return 0, fmt.Errorf("the last reading was %s too early", at.Sub(samples[i-1].at()))
	}
	before, after := samples[i-1], samples[i]
	share := float64(at.Sub(before.at())) / float64(after.at().Sub(before.at()))
	return value(before) + V(share*float64(value(after)-value(before))), nil
}

// Files with the readings of a launch, in its folder. Their first line names the columns: microseconds since 1970, microseconds of
// time, bytes.
const (
	UsageFile     = "usage.csv"
	MachineFile   = "machine.csv"
	usageHeader   = "unix_us,cpu_us,memory_bytes,memory_peak_bytes,throttled_us"
	machineHeader = "unix_us,generator_cpu_us,upstream_cpu_us,busy_us,stolen_us"
)

// WriteUsage writes the readings of a launch's server to UsageFile in its folder.
func WriteUsage(folder string, samples []Sample) error {
	var rows [][5]int64
	for _, s := range samples {
		rows = append(rows, [5]int64{s.At.UnixMicro(), s.CPU.Microseconds(), s.MemoryBytes, s.PeakBytes, s.Throttled.Microseconds()})
	}
	return writeReadings(filepath.Join(folder, UsageFile), usageHeader, rows)
}

// WriteMachine writes the other readings of a launch to MachineFile in its folder.
func WriteMachine(folder string, samples []MachineSample) error {
	var rows [][5]int64
	for _, s := range samples {
		rows = append(rows, [5]int64{s.At.UnixMicro(), s.Generator.Microseconds(), s.Upstream.Microseconds(), s.Busy.Microseconds(), s.Stolen.Microseconds()})
	}
	return writeReadings(filepath.Join(folder, MachineFile), machineHeader, rows)
}

// ReadUsage reads the readings of a launch's server, at least one, from UsageFile in its folder.
func ReadUsage(folder string) ([]Sample, error) {
	rows, err := readReadings(filepath.Join(folder, UsageFile), usageHeader)
	var samples []Sample
	for _, r := range rows {
		samples = append(samples, Sample{At: time.UnixMicro(r[0]).UTC(), CPU: microseconds(r[1]), MemoryBytes: r[2], PeakBytes: r[3], Throttled: microseconds(r[4])})
	}
	return samples, err
}

// ReadMachine reads the other readings of a launch, at least one, from MachineFile in its folder.
func ReadMachine(folder string) ([]MachineSample, error) {
	rows, err := readReadings(filepath.Join(folder, MachineFile), machineHeader)
	var samples []MachineSample
	for _, r := range rows {
		samples = append(samples, MachineSample{
			At: time.UnixMicro(r[0]).UTC(), Generator: microseconds(r[1]), Upstream: microseconds(r[2]), Busy: microseconds(r[3]), Stolen: microseconds(r[4]),
		})
	}
	return samples, err
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func writeReadings(path, header string, rows [][5]int64) error {
	var text bytes.Buffer
	text.WriteString(header + "\n")
	for _, r := range rows {
		fmt.Fprintf(&text, "%d,%d,%d,%d,%d\n", r[0], r[1], r[2], r[3], r[4])
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

func readReadings(path, header string) (rows [][5]int64, err error) {
	defer func() {
		if err != nil {
			rows, err = nil, fmt.Errorf("read %s: %w", filepath.Base(path), err)
		}
	}()
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(lines) < 2 || strings.Join(lines[0], ",") != header {
		return nil, fmt.Errorf("wanted the header %s and a line for each reading", header)
	}
	for i, line := range lines[1:] {
		var row [5]int64
		for column, number := range line {
			if row[column], err = strconv.ParseInt(number, 10, 64); err != nil {
				return nil, fmt.Errorf("line %d, %s: %w", i+2, lines[0][column], err)
			}
		}
		if i > 0 && row[0] <= rows[i-1][0] {
			return nil, fmt.Errorf("line %d is not later than the line before it", i+2)
		}
		rows = append(rows, row)
	}
	return rows, nil
}
