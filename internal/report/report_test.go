package report_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/published"
	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

var update = flag.Bool("update", false, "write the golden files anew")

func pointer[T any](x T) *T { return &x }

func duration(d time.Duration) yamlfile.Duration { return yamlfile.Duration(d) }

const mib = 1 << 20

// exact is a figure without an interval.
func exact(x float64) result.Figure { return result.Figure{Value: x} }

// about is a figure with one.
func about(x, low, high float64) result.Figure {
	return result.Figure{Value: x, Low: &low, High: &high}
}

// example has a workload of each kind, figures of all sizes, with and without intervals, an invalid cell, a cell without a ratio, and notes.
func example() *result.Run {
	closed := experiment.Load{Shape: experiment.ShapeClosed, Users: 10, Warmup: duration(2 * time.Second), Duration: duration(9 * time.Second)}
	subjects := []string{"go", "python"}
	workload := func(name string, calls ...experiment.Call) experiment.Workload {
		return experiment.Workload{
			Name: name, Subjects: subjects, Reference: "go", Launches: 6, Load: closed, Revision: "2025-11-25",
			Sessions: experiment.SessionsPerUser, Calls: calls,
		}
	}
	list, fetch := experiment.Call{Method: experiment.MethodListTools}, experiment.Call{Tool: "fetch_external_data"}
	each := workload("a_session_each", list, fetch)
	each.Sessions, each.Load.Ramp, each.Load.Sleep = experiment.SessionsPerCall, duration(time.Second), duration(100*time.Millisecond)
	session := workload("session")
	session.Sessions = experiment.SessionsPerCall
	search := workload("capacity", list)
	search.Launches = 1
	search.Load = experiment.Load{
		Shape: experiment.ShapeSearch, Users: 100, Warmup: duration(20 * time.Second), Duration: duration(time.Minute),
		Objective: &experiment.Objective{Percentile: 99, Latency: duration(50 * time.Millisecond), Step: duration(4 * time.Second)},
	}
	open := workload("steady", list)
	open.Load = experiment.Load{Shape: experiment.ShapeOpen, Users: 100, Rate: 400, Warmup: duration(20 * time.Second), Duration: duration(time.Minute)}

	figures := func(x float64) *result.Figures {
		return &result.Figures{
			CallsPerSecond: exact(x), IterationsPerSecond: exact(x / 2), RequestsPerSecond: exact(4 * x), P50MS: exact(20), P95MS: exact(30), P99MS: exact(40),
			CPUSecondsPer1000: exact(2.5), MemoryIdle: exact(101 * mib), MemoryPeak: exact(102 * mib),
		}
	}
	limited := figures(7777)
	limited.Limited = true
	same := figures(98)
	same.Ratio = &result.Ratio{Value: 0.98, Low: pointer(0.95), High: pointer(1.01), Pairs: 6, Same: true}
	return &result.Run{
		ID: "2026-10-01-quick-0a1b2c", Command: "parity run quick --scale 0.05", Seed: 42, Status: result.Partial,
		StartedAt: time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC), FinishedAt: time.Date(2026, 10, 1, 12, 20, 0, 0, time.UTC),
		Experiment: experiment.Experiment{
			Name: "quick", Title: "Two servers, one CPU each", Scale: 0.05, Subjects: subjects,
			Workloads: []experiment.Workload{workload("tools_list", list), workload("fetch_external_data", fetch), each, session, search, open},
			Warmups:   map[string]yamlfile.Duration{"python": duration(25 * time.Second)},
		},
		Gate: result.Gate{Vectors: 166, Known: 3, Seed: 99},
		Environment: result.Environment{
			CPUModel: "Some CPU @ 2.50GHz", CPUs: 2, MemoryBytes: 24 << 30, OS: "linux", Kernel: "6.1.0", Backend: "process",
			Commit: "79c6eda", Dirty: true,
		},
		Budget: result.Budget{ServerCPUs: []int{1}, GeneratorCPUs: []int{0}, MemoryBytes: 1 << 30},
		Subjects: []result.Subject{
			{ID: "go", Language: result.Version{Name: "Go", Version: "1.26"}, SDK: result.Version{Name: "go-sdk", Version: "v1.8.0"}},
			{ID: "python", Language: result.Version{Name: "Python", Version: "3.13"}, SDK: result.Version{Name: "fastmcp", Version: "4.1.0"}},
		},
		Upstream: &result.Upstream{CapacityPerSecond: 11876, AskedPerSecond: 2411, FastestSubject: "go"},
		Launches: []result.Launch{
			{Number: 1, Subject: "go", Workload: "tools_list", Runtime: "1.26.8", Generator: result.Generator{Share: 0.432}, Warmup: &result.Warmup{Seconds: 4}},
			{Number: 2, Subject: "go", Workload: "tools_list", Runtime: "1.26.8", Generator: result.Generator{Share: 0.4}, Warmup: &result.Warmup{Seconds: 7.2}},
			{Number: 3, Subject: "python", Workload: "fetch_external_data", FirstError: "/status: want 200, got 500", Generator: result.Generator{Share: 0.9},
				Warmup: &result.Warmup{Seconds: 9}, Invalid: []string{"3 wrong answers", "1 failed call"}},
		},
		Cells: []result.Cell{
			{Workload: "tools_list", Subject: "go", Launches: 6, Valid: 5, Figures: &result.Figures{
				CallsPerSecond: about(12345.6, 12000, 12500), P50MS: exact(0.79912), P95MS: exact(1.2), P99MS: about(9.999, 9, 12), CPUSecondsPer1000: exact(0.0812),
				MemoryIdle: exact(11 * mib), MemoryPeak: exact(1234 * mib),
			}},
			{Workload: "tools_list", Subject: "python", Launches: 6, Valid: 6, Figures: &result.Figures{
				CallsPerSecond: about(999.6, 850, 1001), Ratio: &result.Ratio{Value: 0.08097, Low: pointer(0.078), High: pointer(0.0844), Pairs: 6},
				P50MS: exact(10.04), P95MS: exact(123.4), P99MS: exact(1234.5), CPUSecondsPer1000: exact(1), MemoryIdle: exact(101 * mib), MemoryPeak: exact(102 * mib),
			}},
			{Workload: "fetch_external_data", Subject: "go", Launches: 1, Errors: 4, Invalid: []string{"3 wrong answers", "1 failed call"}},
			{Workload: "fetch_external_data", Subject: "python", Launches: 1, Valid: 1, Figures: figures(50)},
			{Workload: "a_session_each", Subject: "go", Launches: 6, Valid: 6, Figures: figures(100)},
			{Workload: "a_session_each", Subject: "python", Launches: 6, Valid: 6, Figures: same},
			{Workload: "session", Subject: "go", Launches: 6, Valid: 6, Figures: figures(500)},
			{Workload: "session", Subject: "python", Invalid: []string{"no launch"}},
			{Workload: "capacity", Subject: "go", Launches: 1, Valid: 1, Figures: limited},
			{Workload: "capacity", Subject: "python", Launches: 1, Valid: 1, Figures: figures(333)},
			{Workload: "steady", Subject: "go", Launches: 1, Valid: 1, Figures: figures(400)},
			{Workload: "steady", Subject: "python", Launches: 1, Valid: 1, Figures: figures(400)},
		},
		Noise:     []result.Noise{{Figure: "calls_per_second", Repeats: 9, Floor: 0.05}, {Figure: "iterations_per_second", Repeats: 9, Floor: 0.05}, {Figure: "p99_ms", Repeats: 8, Floor: 0.1234}},
		LoadShare: 0.873,
		Notes:     []string{"There is one CPU only."},
	}
}

// beside is example as it is compared with a published table: of three servers one was not measured.
func beside() *result.Run {
	run := example()
	run.Published = &published.Table{
		Name: "theirs-v1", Title: "A table of theirs", Source: "Somebody,\n  2026", Method: "ten users", Caveats: []string{"It is said to be\nfifty users."},
		Servers: []published.Server{
			{Server: "go", Title: "Go", MeanMS: 0.86, RequestsPerSecond: 1624, CPUPercent: 31.8, MemoryMB: 18},
			{Server: "java", Title: "Java", MeanMS: 0.84, RequestsPerSecond: 1624, CPUPercent: 28.8, MemoryMB: 226},
			{Server: "python", Title: "Python", MeanMS: 26.45, RequestsPerSecond: 292, CPUPercent: 93.9, MemoryMB: 98},
		},
		Operations: []published.Operation{
			{Title: "fetch", Tool: "fetch_external_data", MeanMS: map[string]float64{"go": 1.29, "java": 1.32, "python": 80.92}},
			{Title: "list", Method: experiment.MethodListTools, MeanMS: map[string]float64{"go": 0.72, "java": 0.31, "python": 28.88}},
		},
		Conclusions: []published.Conclusion{
			{Text: "Python needs 40 times as long for tools/list", Figure: published.MeanMS, Method: experiment.MethodListTools, Server: "python", Against: "go", Ratio: 40.1},
			{Text: "Go serves 5.6 times as much", Figure: published.RequestsPerSecond, Server: "go", Against: "python", Ratio: 5.56},
			{Text: "Java uses 12.6 times the memory", Figure: published.MemoryMB, Server: "java", Against: "go", Ratio: 12.6},
			{Text: "Go and Python use equally much CPU", Figure: published.CPUPercent, Server: "python", Against: "go", Ratio: 0.96},
		},
	}
	run.Experiment.Workloads = run.Experiment.Workloads[2:3]
	run.Cells = run.Cells[4:6]
	for i := range run.Cells {
		f := run.Cells[i].Figures
		f.RequestMeanMS, f.CPUShare, f.MemoryMean = exact(1.234), about(0.42, 0.4, 0.45), exact(20e6)
		f.Operations = []result.OperationFigures{
			{Method: "DELETE", MeanMS: exact(0.5)}, {Method: "initialize", MeanMS: exact(9)}, {Method: "notifications/initialized", MeanMS: exact(3)},
			{Method: "tools/call", Tool: "fetch_external_data", MeanMS: exact(2.222)}, {Method: experiment.MethodListTools, MeanMS: exact(1.111)},
		}
	}
	run.Cells[1].Figures.Operations[3].MeanRatio = &result.Ratio{Value: 12.3, Pairs: 6}
	run.Cells[1].Figures.Operations[4].MeanRatio = &result.Ratio{Value: 1.02, Pairs: 6, Same: true}
	run.Judgements = []result.Judgement{
		{Workload: "a_session_each", Conclusion: 0, Measured: result.Ratio{Value: 1.02, Low: pointer(0.97), High: pointer(1.06), Pairs: 6, Same: true}, Outcome: result.NoDifference},
		{Workload: "a_session_each", Conclusion: 1, Measured: result.Ratio{Value: 5.5, Pairs: 1}, Outcome: result.Holds},
		{Workload: "a_session_each", Conclusion: 3, Measured: result.Ratio{Value: 1.9, Low: pointer(1.7), High: pointer(2.2), Pairs: 3}, Outcome: result.LargerThanPublished},
	}
	return run
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the change.\ngot:\n%s\nwanted:\n%s", file, got, want)
	}
}

func TestText(t *testing.T)           { golden(t, "testdata/example.txt", report.Text(example())) }
func TestMarkdown(t *testing.T)       { golden(t, "testdata/example.md", report.Markdown(example())) }
func TestExcerpt(t *testing.T)        { golden(t, "testdata/example.excerpt.md", report.Excerpt(example())) }
func TestBesideText(t *testing.T)     { golden(t, "testdata/beside.txt", report.Text(beside())) }
func TestBesideMarkdown(t *testing.T) { golden(t, "testdata/beside.md", report.Markdown(beside())) }

func TestResults(t *testing.T) {
	whole := beside()
	whole.Status, whole.Experiment.Scale, whole.Environment.Commit = result.Complete, 1, ""
	golden(t, "testdata/results.md", report.Results([]*result.Run{example(), whole}))
}

func TestUpstreamThatNobodyCalled(t *testing.T) {
	if got := report.Upstream(result.Upstream{CapacityPerSecond: 9000}); !strings.Contains(got, "no valid launch called it") {
		t.Errorf("got %q", got)
	}
}

// TestLimitedRates checks what is said of a ratio when the load generator has limited one of the two rates, or both.
func TestLimitedRates(t *testing.T) {
	for _, test := range []struct {
		reference, other bool
		want             string
	}{{false, false, "| 0.500 (0.400–0.600) |"}, {false, true, "| ≥ 0.500 (0.400–0.600) |"}, {true, false, "| ≤ 0.500 (0.400–0.600) |"}, {true, true, "| – |"}} {
		run := example()
		run.Cell("capacity", "go").Figures.Limited = test.reference
		f := run.Cell("capacity", "python").Figures
		f.Limited, f.Ratio = test.other, &result.Ratio{Value: 0.5, Low: pointer(0.4), High: pointer(0.6), Pairs: 6}
		rate := "| python | 333 "
		if test.other {
			rate = "| python | ≥ 333 "
		}
		if text := report.Markdown(run); !strings.Contains(text, rate+test.want) {
			t.Errorf("%v: wanted %q in\n%s", test, rate+test.want, text)
		}
	}
}

func TestNothingIsKnown(t *testing.T) {
	run := example()
	run.Noise, run.Launches = nil, nil
	text := report.Text(run)
	for _, want := range []string{"Noise floor: not known", "Load generator: no valid launch."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
