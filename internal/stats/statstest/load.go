// Package statstest writes the raw files of launches for tests, in the form in which k6 and the harness write them.
package statstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// Series are the requests of one method and tool.
type Series struct {
	// Series has the counts of what did not go well. Write fills in the others.
	stats.Series
	// Durations are the microseconds of the requests that ended in a second; the first one is that of the load's start. Responses, from
	// the intended start on, and Lags are those of an open load.
	Durations, Responses, Lags func(second int) []int64
}

// Steady returns the same values for every second: n of them, from the least one on.
func Steady(n int, least int64) func(int) []int64 {
	values := make([]int64, n)
	for i := range values {
		values[i] = least + int64(7*i)
	}
	return func(int) []int64 { return values }
}

// Load is what k6 leaves behind. There is one iteration for each request of the first series.
type Load struct {
	// Start is when the first request began, Length the time from then until the last one ended.
	Start   time.Time
	Length  time.Duration
	Dropped int64
	Series  []Series
}

// Write writes the files of the load to the folder, which it makes.
func (l Load) Write(t testing.TB, folder string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	summary := stats.Summary{Version: stats.SummaryVersion, Series: []stats.Series{}}
	for _, s := range l.Series {
		s.StartUnixMS, s.EndUnixMS = l.Start.UnixMilli(), l.Start.Add(l.Length).UnixMilli()
		name := strings.ReplaceAll(strings.Trim(s.Method+"."+s.Tool, "."), "/", "_")
		s.Histogram, s.OK = l.log(t, folder, name+".hlog", s.Durations)
		s.ResponseHistogram, s.Series.Responses = l.log(t, folder, name+".response.hlog", s.Responses)
		s.LagHistogram, s.Series.Lags = l.log(t, folder, name+".lag.hlog", s.Lags)
		summary.Series = append(summary.Series, s.Series)
	}
	writeJSON(t, filepath.Join(folder, stats.SummaryFile), summary)
	iterations := map[string]int64{"dropped_iterations": l.Dropped}
	if len(summary.Series) > 0 {
		iterations["iterations"] = summary.Series[0].OK
	}
	writeJSON(t, filepath.Join(folder, stats.IterationsFile), iterations)
}

// log writes a histogram log and returns its name and the number of values; no file if there are none.
func (l Load) log(t testing.TB, folder, name string, values func(second int) []int64) (string, int64) {
	t.Helper()
	var text bytes.Buffer
	w := hdrhistogram.NewHistogramLogWriter(&text)
	do(t, w.OutputLogFormatVersion(), w.OutputStartTime(l.Start.Truncate(time.Second).UnixMilli()), w.OutputLegend())
	var all int64
	for second := 0; values != nil; second++ {
		at := l.Start.Truncate(time.Second).Add(time.Duration(second) * time.Second)
		if !at.Before(l.Start.Add(l.Length)) {
			break
		}
		h := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
		for _, v := range values(second) {
			do(t, h.RecordValue(v))
		}
		if h.TotalCount() == 0 {
			continue
		}
		all += h.TotalCount()
		h.SetStartTimeMs(at.UnixMilli())
		h.SetEndTimeMs(at.Add(time.Second).UnixMilli())
		do(t, w.OutputIntervalHistogram(h))
	}
	if all == 0 {
		return "", 0
	}
	do(t, os.WriteFile(filepath.Join(folder, name), text.Bytes(), 0o644))
	return name, all
}

// Use is what is used while a launch lasts, each as a share of one CPU.
type Use struct{ Server, Generator, Upstream, Other, Stolen float64 }

// Write writes readings of the whole launch to its folder: one each quarter of a second, from a second before the start to a second after
// the end. The server's memory begins at that many bytes and grows by 64 KiB with each reading.
func (u Use) Write(t testing.TB, folder string, start time.Time, length time.Duration, memory int64) {
	t.Helper()
	do(t, os.MkdirAll(folder, 0o755))
	const period = 250 * time.Millisecond
	start = start.Truncate(time.Microsecond)
	var usage []stats.Sample
	var machine []stats.MachineSample
	for i := range int((length+2*time.Second)/period) + 1 {
		passed := time.Duration(i) * period
		of := func(share float64) time.Duration {
			return time.Duration(share * float64(passed)).Truncate(time.Microsecond)
		}
		at := start.Add(passed - time.Second)
		now := memory + int64(i)<<16
		usage = append(usage, stats.Sample{At: at, CPU: of(u.Server), MemoryBytes: now, PeakBytes: now + 1<<20})
		machine = append(machine, stats.MachineSample{
			At: at, Generator: of(u.Generator), Upstream: of(u.Upstream), Busy: of(u.Server + u.Generator + u.Upstream + u.Other), Stolen: of(u.Stolen),
		})
	}
	do(t, stats.WriteUsage(folder, usage), stats.WriteMachine(folder, machine))
}

func writeJSON(t testing.TB, path string, content any) {
	t.Helper()
	text, err := json.MarshalIndent(content, "", "  ")
	do(t, err, os.WriteFile(path, append(text, '\n'), 0o644))
}

func do(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(fmt.Errorf("write raw files: %w", err))
		}
	}
}
