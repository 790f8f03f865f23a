// Package verifytest makes a small run for tests, from raw files that are written by hand.
package verifytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// Run writes the folder of a run with two launches of two subjects under two workloads and returns its path. The last launch
// failed, because its server did not start.
func Run(t testing.TB) string {
	t.Helper()
	start := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	e := experiment.Experiment{
		Name: "tiny", Title: "Tiny", Subjects: []string{"go", "node"}, Reference: "go", Launches: 2,
		Load: experiment.Load{Shape: experiment.ShapeClosed, Users: 2, Warmup: experiment.Duration(time.Second), Duration: experiment.Duration(9 * time.Second)},
		Workloads: []experiment.Workload{
			{Name: "list", Method: experiment.MethodListTools},
			{Name: "fetch", Tool: stats.ToolCallingUpstream, Arguments: map[string]any{"endpoint": "/items/1"}},
		},
	}
	run := &result.Run{
		SchemaVersion: result.SchemaVersion, ID: result.NewID(e.Name, start), StartedAt: start, FinishedAt: start.Add(2 * time.Minute),
		Command: "parity run tiny", Seed: 7, Experiment: e,
		Environment: result.Environment{CPUModel: "Some CPU", CPUs: 2, MemoryBytes: 8 << 30, OS: "linux", Kernel: "6.1", Arch: "amd64", Go: "go1.26", Backend: "process"},
		Budget:      result.Budget{ServerCPUs: []int{1}, GeneratorCPUs: []int{0}},
		Subjects: []result.Subject{
			{ID: "go", Title: "Go", Language: result.Version{Name: "Go", Version: "1.26"}, SDK: result.Version{Name: "sdk", Version: "1"}},
			{ID: "node", Title: "Node.js", Language: result.Version{Name: "Node.js", Version: "20"}, SDK: result.Version{Name: "sdk", Version: "2"}},
		},
		Upstream: &result.Upstream{CapacityPerSecond: 12_345},
	}
	folder, err := result.NewFolder(filepath.Join(t.TempDir(), "results"), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	plan := e.Plan(run.Seed)
	for _, p := range plan {
		l := result.Launch{
			Number: p.Number, Subject: p.Subject, Workload: p.Workload, StartedAt: start.Add(time.Duration(p.Number) * 12 * time.Second),
			Folder: fmt.Sprintf("launches/%03d-%s-%s", p.Number, p.Subject, p.Workload),
		}
		dir := filepath.Join(folder.Path(), filepath.FromSlash(l.Folder))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if p.Number < len(plan) {
			load(t, dir, e.Workload(p.Workload), &l)
		} else {
			l.Failure = "the server did not start: it exited with 2"
			write(t, filepath.Join(dir, "failure.txt"), []byte(l.Failure+"\n"))
		}
		run.Launches = append(run.Launches, l)
	}
	if err := stats.Summarise(run, folder.Path()); err != nil {
		t.Fatal(err)
	}
	path, err := folder.Commit(run, []byte(report.Markdown(run)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// load writes the raw files of a launch, the later the slower, and what they tell into the launch: calls of several milliseconds
// in a window of 9 s, and readings every 250 ms of a server that uses half a CPU and more and more memory.
func load(t testing.TB, dir string, w experiment.Workload, l *result.Launch) {
	t.Helper()
	begin := l.StartedAt.Add(time.Second + 123*time.Millisecond)
	end := begin.Add(9 * time.Second)
	l.Window = &result.Window{Start: begin, End: end}
	l.Counts.OK = int64(1000 - 10*l.Number)
	h := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	for i := range l.Counts.OK {
		if err := h.RecordValue(int64(1000*l.Number) + 7*i); err != nil {
			t.Fatal(err)
		}
	}
	h.SetStartTimeMs(begin.UnixMilli())
	h.SetEndTimeMs(end.UnixMilli())
	var log bytes.Buffer
	writer := hdrhistogram.NewHistogramLogWriter(&log)
	for _, step := range []func() error{writer.OutputLogFormatVersion, writer.OutputLegend, func() error { return writer.OutputIntervalHistogram(h) }} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "measure.hlog"), log.Bytes())
	l.Histogram = l.Folder + "/measure.hlog"

	measured := stats.Series{
		Method: "tools/call", Tool: w.Tool, Phase: stats.PhaseMeasure, OK: l.Counts.OK,
		StartUnixMS: begin.UnixMilli(), EndUnixMS: end.UnixMilli(), Histogram: "measure.hlog",
	}
	if w.Method != "" {
		measured.Method = w.Method
	}
	summary, err := json.MarshalIndent(stats.Summary{Version: stats.SummaryVersion, Series: []stats.Series{{Method: "initialize", OK: 2}, measured}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, stats.SummaryFile), summary)

	var samples []stats.Sample
	for i := range 48 {
		s := stats.Sample{
			At: l.StartedAt.Add(time.Duration(i) * 250 * time.Millisecond), CPU: time.Duration(i) * 125_700 * time.Microsecond,
			MemoryBytes: int64(l.Number<<20 + i<<16),
		}
		s.PeakBytes = s.MemoryBytes + 1<<20
		samples = append(samples, s)
	}
	if err := stats.WriteUsage(dir, samples); err != nil {
		t.Fatal(err)
	}
	cpu, err := stats.CPUBetween(samples, begin, end)
	if err != nil {
		t.Fatal(err)
	}
	seconds := cpu.Seconds()
	first, last := samples[0], samples[len(samples)-1]
	l.Server = result.Server{CPUSeconds: &seconds, MemoryIdleBytes: first.MemoryBytes, MemoryPeakBytes: last.PeakBytes, MemoryEndBytes: last.MemoryBytes}
	l.Generator = result.Generator{CPUSeconds: 1, WallSeconds: 11}
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
