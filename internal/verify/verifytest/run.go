// Package verifytest makes a small run for tests, from raw files that are written by hand.
package verifytest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/published"
	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/search"
	"github.com/mcp-parity/mcp-parity/internal/stats"
	"github.com/mcp-parity/mcp-parity/internal/stats/statstest"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

// launchLength is from one launch's start to the next one's.
const launchLength = 90 * time.Second

// Run writes the folder of a complete run and returns its path: two servers under a closed load, an open one and a search, with two launches
// each. The last launch failed, because its server did not start.
func Run(t testing.TB) string {
	t.Helper()
	return Partial(t, math.MaxInt)
}

// Partial writes the folder of a run that was interrupted after as many launches as that, if it has more, and returns its path.
func Partial(t testing.TB, launches int) string {
	t.Helper()
	start := time.Date(2026, 10, 1, 12, 0, 0, 123_000_000, time.UTC)
	run := &result.Run{
		SchemaVersion: result.SchemaVersion, ID: result.NewID("tiny", start), Status: result.Complete, StartedAt: start,
		Command: "parity run tiny", Seed: 7, Experiment: tiny(), Gate: result.Gate{Vectors: 100, Known: 2, Seed: 3}, Published: table(),
		Environment: result.Environment{
			CPUModel: "Some CPU", CPUs: 2, MemoryBytes: 8 << 30, OS: "linux", Kernel: "6.1", Arch: "amd64", Go: "go1.26", K6: "v2.2.0", Backend: "process",
		},
		Budget: result.Budget{ServerCPUs: []int{1}, GeneratorCPUs: []int{0}},
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
	plan := run.Experiment.Plan(run.Seed)
	for i, p := range plan {
		if i == launches {
			run.Status = result.Partial
			break
		}
		l := result.Launch{
			Number: p.Number, Block: p.Block, Subject: p.Subject, Workload: p.Workload, Again: p.Again, ReadySeconds: 0.25, Runtime: "1.2.3",
			StartedAt: start.Add(time.Duration(i) * launchLength), EndedAt: start.Add(time.Duration(i+1)*launchLength - time.Second),
			Folder: fmt.Sprintf("launches/%03d-%s-%s", p.Number, p.Subject, p.Workload),
		}
		w := run.Experiment.WorkloadOf(p.Subject, p.Workload)
		if p.Number < len(plan) {
			load(t, folder.Path(), w, run.Budget, &l)
		} else {
			l.Failure = "the server did not start: it exited with 2"
			dir := filepath.Join(folder.Path(), filepath.FromSlash(l.Folder))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "failure.txt"), []byte(l.Failure+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := stats.Observe(w, run.Budget, folder.Path(), &l); err != nil {
			t.Fatal(err)
		}
		run.Launches = append(run.Launches, l)
	}
	run.FinishedAt = run.Launches[len(run.Launches)-1].EndedAt
	if err := stats.Summarise(run, folder.Path()); err != nil {
		t.Fatal(err)
	}
	path, err := folder.Commit(run, []byte(report.Markdown(run)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func tiny() experiment.Experiment {
	subjects := []string{"go", "node"}
	workload := func(name string, load experiment.Load, calls ...experiment.Call) experiment.Workload {
		load.Users, load.Warmup, load.Duration = 5, seconds(2), seconds(9)
		return experiment.Workload{
			Name: name, Subjects: subjects, Reference: "go", Launches: 2, Load: load, Revision: "2025-11-25", Sessions: experiment.SessionsPerUser, Calls: calls,
		}
	}
	list := experiment.Call{Method: experiment.MethodListTools}
	return experiment.Experiment{
		Name: "tiny", Title: "Tiny", Published: "paper", Scale: 1, Subjects: subjects, Warmups: map[string]yamlfile.Duration{"node": seconds(5)},
		Workloads: []experiment.Workload{
			workload("closed", experiment.Load{Shape: experiment.ShapeClosed}, list,
				experiment.Call{Tool: stats.ToolCallingUpstream, Arguments: map[string]any{"endpoint": "/items/1"}}),
			workload("open", experiment.Load{Shape: experiment.ShapeOpen, Rate: 50}, list),
			workload("capacity", experiment.Load{Shape: experiment.ShapeSearch, Objective: &experiment.Objective{
				Percentile: 99, Latency: yamlfile.Duration(50 * time.Millisecond), Step: seconds(4),
			}}, list),
		},
	}
}

func table() *published.Table {
	return &published.Table{
		Name: "paper", Title: "A paper", Source: "Somebody, 2026", Method: "as one does", Caveats: []string{"one user"},
		Servers: []published.Server{{Server: "go", Title: "Go", MeanMS: 1, RequestsPerSecond: 1000, CPUPercent: 30, MemoryMB: 20}},
		Operations: []published.Operation{
			{Title: "List", Method: experiment.MethodListTools, MeanMS: map[string]float64{"go": 1, "node": 20}},
		},
		Conclusions: []published.Conclusion{
			{Text: "Node.js takes as long", Figure: published.MeanMS, Method: experiment.MethodListTools, Server: "node", Against: "go", Ratio: 20},
		},
	}
}

func seconds(n int) yamlfile.Duration { return yamlfile.Duration(time.Duration(n) * time.Second) }

// load writes the raw files of a launch, the later the slower.
func load(t testing.TB, runDir string, w experiment.Workload, b result.Budget, l *result.Launch) {
	t.Helper()
	dir := filepath.Join(runDir, filepath.FromSlash(l.Folder))
	calls, least := 100-l.Number, int64(1000+10*l.Number)
	if l.Subject == "node" {
		calls, least = 50-l.Number, 3*least
	}
	list := func(n int, latency int64, open bool) statstest.Series {
		s := statstest.Series{Series: stats.Series{Method: experiment.MethodListTools}, Durations: statstest.Steady(n, latency)}
		if open {
			s.Responses, s.Lags = statstest.Steady(n, latency+200), statstest.Steady(n, 50)
		}
		return s
	}
	session := statstest.Series{Series: stats.Series{Method: "initialize"}, Durations: func(second int) []int64 {
		return statstest.Steady(max(0, 5-5*second), 4000)(second) // in the first second only
	}}
	begin := l.StartedAt.Add(300 * time.Millisecond)
	write := func(folder string, length time.Duration, series ...statstest.Series) {
		statstest.Load{Start: begin, Length: length, Series: append(series, session)}.Write(t, folder)
		begin = begin.Add(length + 500*time.Millisecond)
	}
	use := statstest.Use{Server: 0.5, Generator: 0.25, Upstream: 0.125, Other: 0.0625}
	use.Write(t, dir, begin, launchLength-5*time.Second, int64(l.Number)<<20)
	switch w.Load.Shape {
	case experiment.ShapeClosed:
		fetch := list(calls, 2*least, false)
		fetch.Method, fetch.Tool = "tools/call", stats.ToolCallingUpstream
		write(dir, 12*time.Second, list(calls, least, false), fetch)
	case experiment.ShapeOpen:
		write(dir, 12*time.Second, list(w.Load.Rate, least, true))
	case experiment.ShapeSearch:
		warmup := filepath.Join(dir, stats.WarmupFolder)
		write(warmup, 2*time.Second, list(calls, least, false))
		start, err := search.Start(w, warmup)
		if err != nil {
			t.Fatal(err)
		}
		for {
			rate, confirming, done := search.Next(start, l.Search)
			if done {
				return
			}
			s := result.Step{Folder: fmt.Sprintf("%s/steps/%02d-r%d", l.Folder, len(l.Search)+1, rate), AskedPerSecond: float64(rate), Confirming: confirming}
			length, latency := 4*time.Second, least
			if confirming {
				length = 9 * time.Second
			}
			if rate > calls {
				latency = 60_000
			}
			write(filepath.Join(runDir, filepath.FromSlash(s.Folder)), length, list(rate, latency, true))
			if err := stats.ObserveStep(w, b, runDir, &s); err != nil {
				t.Fatal(err)
			}
			l.Search = append(l.Search, s)
		}
	}
}
