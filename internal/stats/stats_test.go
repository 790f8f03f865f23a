package stats_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/published"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
	"github.com/mcp-parity/mcp-parity/internal/stats/statstest"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

var t0 = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }

func whole(seconds int) yamlfile.Duration {
	return yamlfile.Duration(time.Duration(seconds) * time.Second)
}

var budget = result.Budget{ServerCPUs: []int{1}, GeneratorCPUs: []int{0}}

// use is what launches of tests use.
var use = statstest.Use{Server: 0.5, Generator: 0.25, Upstream: 0.125, Other: 0.0625, Stolen: 0.015625}

func near(got, want float64) bool { return math.Abs(got-want) <= 0.002*math.Abs(want) }

// TestMergedPercentiles proves that percentiles come from merged histograms: a fast launch with many calls and a slow one
// with few have a common median near the fast one's, and not half way.
func TestMergedPercentiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []int64
	var histograms []*hdrhistogram.Histogram
	for _, launch := range []struct{ n, mean int64 }{{9000, 2_000}, {1000, 40_000}} {
		var values []int64
		for range launch.n {
			values = append(values, launch.mean/2+random.Int64N(launch.mean))
		}
		dir := t.TempDir()
		statstest.Load{Start: t0, Length: time.Second, Series: []statstest.Series{
			{Series: stats.Series{Method: "tools/list"}, Durations: func(int) []int64 { return values }},
		}}.Write(t, dir)
		h, err := stats.ReadHistogram(filepath.Join(dir, "tools_list.hlog"), result.Window{Start: t0, End: at(1)})
		if err != nil {
			t.Fatal(err)
		}
		histograms, all = append(histograms, h), append(all, values...)
	}
	merged, err := stats.Merge(histograms)
	if err != nil {
		t.Fatal(err)
	}
	if histograms[0].TotalCount() != 9000 || merged.TotalCount() != 10_000 {
		t.Errorf("got %d and %d values, wanted 9000 and 10000", histograms[0].TotalCount(), merged.TotalCount())
	}
	slices.Sort(all)
	for _, percentile := range []float64{50, 95, 99} {
		if want, got := float64(all[int(percentile/100*float64(len(all)))-1]), float64(merged.ValueAtPercentile(percentile)); !near(got, want) {
			t.Errorf("p%v is %v, wanted %v", percentile, got, want)
		}
	}
}

func TestReadHistogram(t *testing.T) {
	dir := t.TempDir()
	statstest.Load{Start: at(0.4), Length: 4 * time.Second, Series: []statstest.Series{{
		Series:    stats.Series{Method: "tools/list"},
		Durations: func(second int) []int64 { return statstest.Steady(second%3, 1000)(second) }, // 0, 1, 2, 0, 1 values
	}}}.Write(t, dir)
	path := filepath.Join(dir, "tools_list.hlog")
	always := result.Window{Start: at(0), End: at(9)}
	for _, test := range []struct{ from, to, want float64 }{{0, 5, 4}, {1, 2, 1}, {2, 4, 2}, {3, 4, 0}, {4, 9, 1}} {
		h, err := stats.ReadHistogram(path, result.Window{Start: at(test.from), End: at(test.to)})
		if err != nil || float64(h.TotalCount()) != test.want {
			t.Errorf("from %v to %v: got %v values, %v, wanted %v", test.from, test.to, h.TotalCount(), err, test.want)
		}
	}

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	second := fmt.Sprint(at(2).Unix())
	for _, test := range []struct{ name, old, new, want string }{
		{"not a whole second", second + ".000", second + ".500", "wanted whole seconds in the order of time, got 2026-10-01T12:00:02.5Z"},
		{"longer than a second", second + ".000000,1.000", second + ".000000,2.000", "wanted whole seconds"},
		{"the same second again", second, fmt.Sprint(at(1).Unix()), "wanted whole seconds in the order of time"},
		{"damaged values", ",HISTF", ",HISTG", "read the histograms tools_list.hlog: "},
	} {
		changed := bytes.Replace(text, []byte(test.old), []byte(test.new), 1)
		if bytes.Equal(changed, text) {
			t.Fatalf("%s: %q is not in the log:\n%s", test.name, test.old, text)
		}
		if err := os.WriteFile(path, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := stats.ReadHistogram(path, always); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, wanted %q in it", test.name, err, test.want)
		}
	}
	if _, err := stats.ReadHistogram(filepath.Join(dir, "none.hlog"), always); err == nil || err.Error() != "read the histograms none.hlog: no such file or directory" {
		t.Errorf("got %v, wanted an error that does not name the folder", err)
	}
}

// mix is a closed workload of two calls in an iteration.
var mix = experiment.Workload{
	Name: "mix", Subjects: []string{"go", "node"}, Reference: "go", Launches: 1, Sessions: experiment.SessionsPerCall,
	Load:  experiment.Load{Shape: experiment.ShapeClosed, Users: 2, Warmup: whole(2), Duration: whole(6)},
	Calls: []experiment.Call{{Tool: "calculate_fibonacci", Arguments: map[string]any{"n": 3}}, {Method: experiment.MethodListTools}},
}

// steady is a series of a load that begins 0.3 s after a second and lasts for 9 s, so that its first second and its last are not whole.
func steady(method, tool string, n int, least int64) statstest.Series {
	return statstest.Series{Series: stats.Series{Method: method, Tool: tool}, Durations: statstest.Steady(n, least)}
}

func closedLoad(series ...statstest.Series) statstest.Load {
	return statstest.Load{Start: at(0.3), Length: 9 * time.Second, Series: series}
}

func TestObserveClosed(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "launches", "1")
	fib := steady("tools/call", "calculate_fibonacci", 100, 1000)
	fib.Failed, fib.Interrupted, fib.Wrong, fib.FirstError, fib.FirstWrong = 1, 2, 3, "", "/n: want 1, got 2"
	list := steady("tools/list", "", 102, 2000)
	list.ToolFailed, list.Series.FirstError = 4, "tool: no"
	load := closedLoad(steady("initialize", "", 200, 500), fib, list)
	load.Dropped = 5
	load.Write(t, folder)
	use.Write(t, folder, at(0.3), 9*time.Second, 1<<20)

	l := result.Launch{Folder: "launches/1", FirstError: "stale", AskedPerSecond: 7, Generator: result.Generator{ExitCode: 9, CPUSeconds: 99}}
	if err := stats.Observe(mix, budget, dir, &l); err != nil {
		t.Fatal(err)
	}
	if want := (result.Window{Start: at(3), End: at(9)}); l.Window == nil || *l.Window != want {
		t.Fatalf("the window is %v, wanted %v", l.Window, want)
	}
	if w := *l.Warmup; !near(w.Seconds, 2.7) || w.Class != stats.ClassFlat || w.ChangeSeconds != 0 || w.Drift != 0 {
		t.Errorf("the warm-up is %+v", w)
	}
	if want := (result.Counts{OK: 1212, Requests: 2412, Iterations: 606, Failed: 3, ToolFailed: 4, Wrong: 3, Dropped: 5}); l.Counts != want {
		t.Errorf("counts are %+v, wanted %+v", l.Counts, want)
	}
	if l.FirstError != "/n: want 1, got 2" || l.AskedPerSecond != 0 || l.Lag != nil || l.Generator.ExitCode != 9 {
		t.Errorf("got first error %q, asked %v, lag %v, exit code %d", l.FirstError, l.AskedPerSecond, l.Lag, l.Generator.ExitCode)
	}
	var operations []string
	for _, o := range l.Operations {
		operations = append(operations, fmt.Sprintf("%s %d %s p50 %.1f", o.Name(), o.OK, o.Histogram, o.Latency.P50MS))
	}
	if want := []string{
		"initialize 1200 launches/1/initialize.hlog p50 1.2", "calculate_fibonacci 600 launches/1/tools_call.calculate_fibonacci.hlog p50 1.3",
		"tools/list 612 launches/1/tools_list.hlog p50 2.4",
	}; !slices.Equal(operations, want) {
		t.Errorf("operations are %q, wanted %q", operations, want)
	}
	for _, figure := range []struct {
		name      string
		got, want float64
	}{
		{"CPU of the server", *l.Server.CPUSeconds, 3},
		{"CPU of the generator", l.Generator.CPUSeconds, 1.5},
		{"CPU of upstream", l.Generator.UpstreamCPUSeconds, 0.75},
		{"the generator's share", l.Generator.Share, 0.25},
		{"other use", l.Machine.Other, 0.0625 / 2},
		{"stolen", l.Machine.Stolen, 0.015625 / 2},
		{"idle memory", float64(l.Server.MemoryIdleBytes), 1 << 20},
		{"mean memory", float64(l.Server.MemoryMeanBytes), 1<<20 + 26.8*(1<<16)}, // half way between 3.7 s and 9.7 s of four readings each
		{"peak memory", float64(l.Server.MemoryPeakBytes), 2<<20 + 44*(1<<16)},
		{"memory at the end", float64(l.Server.MemoryEndBytes), 1<<20 + 44*(1<<16)},
	} {
		if !near(figure.got, figure.want) {
			t.Errorf("%s is %v, wanted %v", figure.name, figure.got, figure.want)
		}
	}

	timeline, err := stats.Timeline(mix, dir, l)
	if err != nil || len(timeline) != 10 || timeline[4].At != at(4) || timeline[4].Calls != 202 || !near(timeline[4].P99MS, 2.693) {
		t.Errorf("the timeline is %v, %v", timeline, err)
	}
}

// open is a load of 100 iterations a second, whose latency from the intended start is three times that from the sending on.
var open = experiment.Workload{
	Name: "open", Subjects: []string{"go"}, Reference: "go", Launches: 1,
	Load:  experiment.Load{Shape: experiment.ShapeOpen, Users: 5, Rate: 100, Warmup: whole(2), Duration: whole(6)},
	Calls: []experiment.Call{{Tool: "calculate_fibonacci"}, {Method: experiment.MethodListTools}},
}

func openSeries(n int) []statstest.Series {
	first := steady("tools/call", "calculate_fibonacci", n, 1000)
	first.Durations, first.Responses = statstest.Steady(n, 1000), statstest.Steady(n, 3000)
	first.Lags = statstest.Steady(n, 100)
	return []statstest.Series{first, steady("tools/list", "", n, 2000)}
}

func TestObserveOpen(t *testing.T) {
	dir := t.TempDir()
	closedLoad(openSeries(100)...).Write(t, dir)
	use.Write(t, dir, at(0.3), 9*time.Second, 1<<20)
	l := result.Launch{Folder: "."}
	if err := stats.Observe(open, budget, dir, &l); err != nil {
		t.Fatal(err)
	}
	if l.AskedPerSecond != 100 || l.Counts.Iterations != 600 || l.Warmup.Class != stats.ClassFlat {
		t.Errorf("got %v iterations of %v/s, %s", l.Counts.Iterations, l.AskedPerSecond, l.Warmup.Class)
	}
	if o := l.Operations[0]; o.Histogram != "tools_call.calculate_fibonacci.response.hlog" || !near(o.Latency.P50MS, 3.34) {
		t.Errorf("the first call is %+v, wanted its latency from the intended start", o)
	}
	if o := l.Operations[1]; o.Histogram != "tools_list.hlog" || !near(o.Latency.P50MS, 2.34) {
		t.Errorf("the second call is %+v, wanted its latency from the sending on", o)
	}
	if l.Lag == nil || !near(l.Lag.P50MS, 0.443) || !near(l.Lag.P99MS, 0.786) || !near(l.Lag.MaxMS, 0.793) {
		t.Errorf("lag is %+v", l.Lag)
	}
	if reasons := stats.Judge(open, l); len(reasons) > 0 {
		t.Errorf("it is invalid: %q", reasons)
	}
}

func TestObserveDamaged(t *testing.T) {
	for _, test := range []struct{ name, file, old, new, want string }{
		{"no summary", stats.SummaryFile, "", "", "read k6's summary: no such file or directory"},
		{"an old summary", stats.SummaryFile, `"version": 2`, `"version": 1`, "read k6's summary: it has version 1, wanted 2"},
		{"a series twice", stats.SummaryFile, `"tools/list"`, `"initialize"`, "read k6's summary: it has two series for initialize"},
		{"another count", stats.SummaryFile, `"ok": 1000`, `"ok": 1001`, "the histograms tools_list.hlog hold 1000 values, but summary.json counts 1001"},
		{"no iterations", stats.IterationsFile, "", "", "read k6's count of iterations: no such file or directory"},
		{"iterations without what counts", stats.IterationsFile, `"dropped_iterations"`, `"dropped"`, "read k6's count of iterations: it has no dropped_iterations"},
		{"no histograms", "tools_list.hlog", "", "", "read the histograms tools_list.hlog: no such file or directory"},
		{"no readings of the server", stats.UsageFile, "", "", "read usage.csv: no such file or directory"},
		{"no readings of the machine", stats.MachineFile, "", "", "read machine.csv: no such file or directory"},
		{"readings of the machine that end too early", stats.MachineFile, "\n" + fmt.Sprint(at(5.3).UnixMicro()), "\n9", "read machine.csv: "},
	} {
		dir := t.TempDir()
		closedLoad(steady("initialize", "", 10, 500), steady("tools/list", "", 100, 2000)).Write(t, dir)
		use.Write(t, dir, at(0.3), 9*time.Second, 1<<20)
		path := filepath.Join(dir, test.file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case test.old == "":
			err = os.Remove(path)
		case !bytes.Contains(text, []byte(test.old)):
			t.Fatalf("%s: %q is not in %s:\n%s", test.name, test.old, test.file, text)
		default:
			err = os.WriteFile(path, bytes.Replace(text, []byte(test.old), []byte(test.new), 1), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, failure := range []string{"", "the server did not stop"} {
			l := result.Launch{Folder: ".", Failure: failure}
			err := stats.Observe(mix, budget, dir, &l)
			switch {
			case failure == "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s: got %v, wanted %q", test.name, err, test.want)
			case failure != "" && err != nil:
				t.Errorf("%s, of a launch that has failed: got %v", test.name, err)
			case l.Window != nil || l.Counts != (result.Counts{}) || l.Operations != nil:
				t.Errorf("%s: got %+v, wanted nothing observed", test.name, l)
			}
		}
	}
}

// capacity looks for a rate with p99 of at most 50 ms.
var capacity = experiment.Workload{
	Name: "capacity", Subjects: []string{"go"}, Reference: "go", Launches: 1,
	Load: experiment.Load{
		Shape: experiment.ShapeSearch, Users: 5, Warmup: whole(4), Duration: whole(6),
		Objective: &experiment.Objective{Percentile: 99, Latency: yamlfile.Duration(50 * time.Millisecond), Step: whole(4)},
	},
	Calls: []experiment.Call{{Tool: "calculate_fibonacci"}},
}

// stepLoad is a step with n calls in each second, the latency and lag of which begin with those microseconds.
func stepLoad(begin float64, length time.Duration, n int, latency, lag int64) statstest.Load {
	s := steady("tools/call", "calculate_fibonacci", n, 1000)
	s.Responses, s.Lags = statstest.Steady(n, latency), statstest.Steady(n, lag)
	return statstest.Load{Start: at(begin), Length: length, Series: []statstest.Series{s}}
}

func TestObserveSearch(t *testing.T) {
	dir := t.TempDir()
	statstest.Load{Start: at(0.3), Length: 4 * time.Second, Series: []statstest.Series{steady("tools/call", "calculate_fibonacci", 900, 1000)}}.
		Write(t, filepath.Join(dir, "l", stats.WarmupFolder))
	tooMuch := stepLoad(9.3, 5*time.Second, 350, 30_000, 100)
	tooMuch.Dropped = 77
	tooMuch.Series[0].Failed = 3
	stepLoad(5.3, 4*time.Second, 200, 3000, 100).Write(t, filepath.Join(dir, "l/steps/01-r200"))
	tooMuch.Write(t, filepath.Join(dir, "l/steps/02-r400"))
	stepLoad(15.3, 6*time.Second, 200, 4000, 100).Write(t, filepath.Join(dir, "l/steps/03-r200"))
	use.Write(t, filepath.Join(dir, "l"), at(0.3), 22*time.Second, 1<<20)
	l := result.Launch{Folder: "l", Search: []result.Step{
		{Folder: "l/steps/01-r200", AskedPerSecond: 200}, {Folder: "l/steps/02-r400", AskedPerSecond: 400},
		{Folder: "l/steps/03-r200", AskedPerSecond: 200, Confirming: true},
	}}
	if err := stats.Observe(capacity, budget, dir, &l); err != nil {
		t.Fatal(err)
	}
	if want := (result.Window{Start: at(16), End: at(21)}); l.Window == nil || *l.Window != want {
		t.Fatalf("the window is %v, wanted %v", l.Window, want)
	}
	if want := (result.Counts{OK: 1000, Requests: 1000, Iterations: 1000}); l.Counts != want {
		t.Errorf("counts are %+v, wanted %+v", l.Counts, want)
	}
	if l.AskedPerSecond != 200 || l.Limited || !near(l.Warmup.Seconds, 15.7) || l.Warmup.Class != stats.ClassFlat || !near(l.Operations[0].Latency.P50MS, 4.7) {
		t.Errorf("got %+v", l)
	}
	if s := l.Search[0]; !s.Met || s.AchievedPerSecond != 200 || !near(s.LatencyMS, 4.379) || !near(s.GeneratorShare, 0.25) {
		t.Errorf("the first step is %+v", s)
	}
	if s := l.Search[1]; s.Met || s.Missed != "3 failed calls, 77 dropped iterations" || s.AchievedPerSecond != 350 {
		t.Errorf("the second step is %+v", s)
	}
	if reasons := stats.Judge(capacity, l); len(reasons) > 0 {
		t.Errorf("it is invalid: %q", reasons)
	}
	if timeline, err := stats.Timeline(capacity, dir, l); err != nil || len(timeline) != 22 || timeline[5].Calls != 200 || timeline[9].Calls != 550 || timeline[0].Calls != 900 {
		t.Errorf("the timeline is %v, %v", timeline, err)
	}

	// What goes wrong at a rate that is too high is what is looked for; a wrong answer is not.
	tooMuch.Series[0].Wrong, tooMuch.Series[0].FirstWrong = 2, "/n: want 1, got 2"
	tooMuch.Write(t, filepath.Join(dir, "l/steps/02-r400"))
	if err := stats.Observe(capacity, budget, dir, &l); err != nil || l.Counts.Errors() != 2 || l.FirstError != "/n: want 1, got 2" {
		t.Errorf("got %v, %+v, first error %q", err, l.Counts, l.FirstError)
	}
	if got := stats.Judge(capacity, l); !slices.Equal(got, []string{"2 wrong answers"}) {
		t.Errorf("got %q", got)
	}

	l.Search = l.Search[:2]
	if err := stats.Observe(capacity, budget, dir, &l); err != nil || l.Window != nil {
		t.Errorf("without a confirmation: got %v, %+v", err, l.Window)
	}
	if got := stats.Judge(capacity, l); len(got) != 2 || !strings.HasPrefix(got[1], "no rate was confirmed: the last one tried, 400/s, was missed because 2 wrong answers, 3 failed") {
		t.Errorf("without a confirmation: got %q", got)
	}
}

func TestObserveStep(t *testing.T) {
	for _, test := range []struct {
		name         string
		n            int
		latency, lag int64
		generator    float64
		want         string
		limited      bool
	}{
		{"met", 200, 4000, 100, 0.5, "", false},
		{"too slow", 200, 49_000, 100, 0.5, "p99 is 50.4 ms, more than 50ms", false},
		{"some are under way", 196, 40_000, 100, 0.5, "", false},
		{"behind", 180, 40_000, 100, 0.5, "180 iterations/s of the 200 asked for, less than 99 %", false},
		{"late", 200, 4000, 5000, 0.5, "the load generator began one in a hundred iterations 6.38 ms late or more, limit 5 ms", true},
		{"a busy generator, which makes it slow", 200, 90_000, 100, 0.9, "the load generator used 90 % of its CPUs, more than 70 %", true},
	} {
		dir := t.TempDir()
		stepLoad(0.3, 4*time.Second, test.n, test.latency, test.lag).Write(t, filepath.Join(dir, "l/steps/01-r200"))
		statstest.Use{Generator: test.generator}.Write(t, filepath.Join(dir, "l"), at(0.3), 4*time.Second, 1)
		s := result.Step{Folder: "l/steps/01-r200", AskedPerSecond: 200, Met: true, Missed: "stale"}
		if err := stats.ObserveStep(capacity, budget, dir, &s); err != nil {
			t.Fatal(err)
		}
		if s.Missed != test.want || s.Met != (test.want == "") || stats.MissedByGenerator(s) != test.limited {
			t.Errorf("%s: got %+v, wanted %q", test.name, s, test.want)
		}
	}
}

func TestLimited(t *testing.T) {
	for _, test := range []struct {
		name      string
		generator float64
		want      bool
	}{{"by the server", 0.3, false}, {"by the generator", 0.9, true}} {
		dir := t.TempDir()
		statstest.Load{Start: at(0.3), Length: 4 * time.Second, Series: []statstest.Series{steady("tools/call", "calculate_fibonacci", 900, 1000)}}.
			Write(t, filepath.Join(dir, "l", stats.WarmupFolder))
		stepLoad(5.3, 4*time.Second, 400, 90_000, 100).Write(t, filepath.Join(dir, "l/steps/01-r400"))
		stepLoad(10.3, 6*time.Second, 200, 4000, 100).Write(t, filepath.Join(dir, "l/steps/02-r200"))
		use.Write(t, filepath.Join(dir, "l"), at(0.3), 16*time.Second, 1)
		// The generator is busy up to the end of the first step only.
		machine, err := stats.ReadMachine(filepath.Join(dir, "l"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range machine {
			machine[i].Generator = time.Duration(test.generator * float64(min(machine[i].At.Sub(machine[0].At), 10*time.Second))).Truncate(time.Microsecond)
		}
		if err := stats.WriteMachine(filepath.Join(dir, "l"), machine); err != nil {
			t.Fatal(err)
		}
		l := result.Launch{Folder: "l", Search: []result.Step{
			{Folder: "l/steps/01-r400", AskedPerSecond: 400}, {Folder: "l/steps/02-r200", AskedPerSecond: 200, Confirming: true},
		}}
		if err := stats.Observe(capacity, budget, dir, &l); err != nil || l.Limited != test.want || l.Window == nil {
			t.Errorf("%s: got %v, limited %v, wanted %v; steps %+v", test.name, err, l.Limited, test.want, l.Search)
		}
	}
}

// good is a valid launch of mix.
func good() result.Launch {
	cpu := 2.0
	return result.Launch{
		Warmup: &result.Warmup{Seconds: 2, Class: stats.ClassFlat},
		Window: &result.Window{Start: at(2), End: at(8)},
		Counts: result.Counts{OK: 1000, Requests: 1000, Iterations: 500},
		Server: result.Server{CPUSeconds: &cpu, MemoryIdleBytes: 10, MemoryPeakBytes: 30, MemoryEndBytes: 20},
	}
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*result.Launch)
		want  []string
	}{
		{"good", func(*result.Launch) {}, nil},
		{"wrong", func(l *result.Launch) { l.Counts.Wrong = 3 }, []string{"3 wrong answers"}},
		{"one wrong", func(l *result.Launch) { l.Counts.Wrong = 1 }, []string{"1 wrong answer"}},
		{"failed and tool failed", func(l *result.Launch) { l.Counts.Failed, l.Counts.ToolFailed = 1, 2 },
			[]string{"1 failed call", "2 calls answered with a tool error"}},
		{"dropped", func(l *result.Launch) { l.Counts.Dropped = 2 }, []string{"2 dropped iterations"}},
		{"exit code", func(l *result.Launch) { l.Generator.ExitCode = 107 }, []string{"k6 ended with exit code 107"}},
		{"no calls", func(l *result.Launch) { l.Counts, l.Window, l.Warmup = result.Counts{}, nil, nil }, []string{"no successful call in the window"}},
		{"no calls in the window", func(l *result.Launch) { l.Counts = result.Counts{} }, []string{"no successful call in the window"}},
		{"no CPU time", func(l *result.Launch) { l.Server.CPUSeconds = nil }, []string{"the server's CPU time was not read over the whole window"}},
		{"behind", func(l *result.Launch) { l.AskedPerSecond = 100 }, []string{"83.33 iterations/s of the 100 asked for, less than 99 %"}},
		{"not behind", func(l *result.Launch) { l.AskedPerSecond = 84 }, nil},
		{"late", func(l *result.Launch) { l.Lag = &result.Lag{P99MS: 2.1} },
			[]string{"the load generator began one in a hundred iterations 2.1 ms late or more, limit 2 ms"}},
		{"late, but so is all", func(l *result.Launch) {
			l.Lag, l.Operations = &result.Lag{P99MS: 2.1}, []result.Operation{{Latency: result.Latency{P99MS: 22}}}
		}, nil},
		{"a busy generator", func(l *result.Launch) { l.Generator.Share = 0.71 }, []string{"the load generator used 71 % of its CPUs, more than 70 %"}},
		{"throttled", func(l *result.Launch) { l.Server.ThrottledSeconds = 0.1 }, []string{"the kernel kept the server from running for 0.1 s because of a quota"}},
		{"a late change", func(l *result.Launch) {
			l.Window.Start, l.Warmup = at(6), &result.Warmup{Class: stats.ClassUnsteady, ChangeSeconds: 6}
		}, []string{"no steady state: the level still changed 6 s after the first call, which leaves 2 s of 6 s, lengthen `warmup`"}},
		{"drift", func(l *result.Launch) { l.Warmup = &result.Warmup{Class: stats.ClassUnsteady, Drift: 0.31} },
			[]string{"no steady state: the rate in the last third of the window is 31 % higher than in the first, lengthen `warmup`"}},
		{"a busy machine", func(l *result.Launch) { l.Machine.Other = 0.5 }, []string{"the machine was busy with something else for 50 % of its CPU time, more than 10 %"}},
		{"stolen", func(l *result.Launch) { l.Machine.Stolen = 0.05 }, []string{"a hypervisor gave 5.0 % of the machine's CPU time to others, more than 2 %"}},
		{"failure", func(l *result.Launch) { *l = result.Launch{Failure: "the server did not start: exit 1"} },
			[]string{"the server did not start: exit 1"}},
	} {
		l := good()
		test.spoil(&l)
		if got := stats.Judge(mix, l); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, wanted %q", test.name, got, test.want)
		}
	}
}

func TestLastRate(t *testing.T) {
	w := mix // two calls in an iteration
	for _, test := range []struct {
		name   string
		length time.Duration
		end    float64
		want   float64 // 0 for an error
	}{
		{"the last seconds", 3 * time.Second, 9, 70}, // the 6th, 7th and 8th second have 60, 70 and 80 calls of each tool
		{"all whole seconds", time.Minute, 9, 45},
		{"none", 3 * time.Second, 1.2, 0},
	} {
		dir := t.TempDir()
		faster := func(second int) []int64 { return statstest.Steady(10*second, 1000)(second) }
		statstest.Load{Start: at(0.3), Length: time.Duration((test.end - 0.3) * float64(time.Second)), Series: []statstest.Series{
			{Series: stats.Series{Method: "tools/call", Tool: "calculate_fibonacci"}, Durations: faster},
			{Series: stats.Series{Method: "tools/list"}, Durations: faster},
			steady("initialize", "", 2, 9000),
		}}.Write(t, dir)
		got, err := stats.LastRate(w, dir, test.length)
		if !near(got, test.want) || (err != nil) != (test.want == 0) {
			t.Errorf("%s: got %v, %v, wanted %v", test.name, got, err, test.want)
		}
	}
	if _, err := stats.LastRate(w, t.TempDir(), time.Second); err == nil || !strings.Contains(err.Error(), "read k6's summary: no such file") {
		t.Errorf("without files: got %v", err)
	}
}

// run is a run of a reference and a server of about half its speed under one workload with the upstream tool, in n rounds; upstream
// is four times as fast as needed.
func run(t *testing.T, n int) (*result.Run, string) {
	t.Helper()
	w := experiment.Workload{
		Name: "fetch", Subjects: []string{"go", "node"}, Reference: "go", Launches: n, Load: mix.Load,
		Calls: []experiment.Call{{Tool: stats.ToolCallingUpstream}},
	}
	dir := t.TempDir()
	r := &result.Run{
		Experiment: experiment.Experiment{Subjects: w.Subjects, Workloads: []experiment.Workload{w}},
		Upstream:   &result.Upstream{CapacityPerSecond: 4 * 120}, Budget: budget, Seed: 3,
	}
	for _, p := range r.Experiment.Plan(r.Seed) {
		l := result.Launch{Number: p.Number, Block: p.Block, Subject: p.Subject, Workload: p.Workload, Again: p.Again, Folder: fmt.Sprint("launches/", p.Number)}
		l.StartedAt, l.EndedAt = at(float64(10*p.Number)), at(float64(10*p.Number+10))
		calls, latency := 100+2*p.Block, int64(1000) // a second
		if p.Subject == "node" {
			calls, latency = 50+p.Block, 3000
		}
		if p.Again {
			calls = 103 + 2*p.Block
		}
		folder := filepath.Join(dir, l.Folder)
		statstest.Load{Start: at(0.3), Length: 9 * time.Second, Series: []statstest.Series{
			steady("tools/call", stats.ToolCallingUpstream, calls, latency), steady("initialize", "", 2, 9000),
		}}.Write(t, folder)
		use.Write(t, folder, at(0.3), 9*time.Second, int64(p.Number)<<20)
		if err := stats.Observe(w, budget, dir, &l); err != nil {
			t.Fatal(err)
		}
		r.Launches = append(r.Launches, l)
	}
	return r, dir
}

func summarise(t *testing.T, r *result.Run, dir string) {
	t.Helper()
	if err := stats.Summarise(r, dir); err != nil {
		t.Fatal(err)
	}
}

func TestSummarise(t *testing.T) {
	r, dir := run(t, 6)
	summarise(t, r, dir)
	if len(r.Cells) != 2 || r.Cells[0].Subject != "go" || r.Cells[0].Launches != 6 || r.Cells[0].Valid != 6 || r.Cells[0].Errors != 0 {
		t.Fatalf("cells are %+v", r.Cells)
	}
	f := *r.Cell("fetch", "node").Figures
	for _, figure := range []struct {
		name             string
		got              result.Figure
		value, low, high float64
	}{
		{"calls/s", f.CallsPerSecond, 53.5, 51, 56},
		{"iterations/s", f.IterationsPerSecond, 53.5, 51, 56},
		{"requests/s", f.RequestsPerSecond, 55.5, 53, 58},
		{"p50", f.P50MS, 3.185, 3.175, 3.191},
		{"request mean", f.RequestMeanMS, 3.391, 3.39, 3.399},
		{"CPU per 1,000", f.CPUSecondsPer1000, 9.346, 8.929, 9.804},
		{"CPU share", f.CPUShare, 0.5, 0.5, 0.5},
	} {
		if !near(figure.got.Value, figure.value) || figure.got.Low == nil || !near(*figure.got.Low, figure.low) || !near(*figure.got.High, figure.high) {
			t.Errorf("%s is %v (%v), wanted %v (%v to %v)", figure.name, figure.got.Value, figure.got, figure.value, figure.low, figure.high)
		}
	}
	if !near(f.GeneratorShare, 0.25) || f.Limited {
		t.Errorf("got %+v", f)
	}
	if ratio := f.Ratio; ratio == nil || !near(ratio.Value, 0.5) || ratio.Pairs != 6 || ratio.Same || ratio.Low == nil {
		t.Errorf("the ratio is %+v, wanted 0.5 of 6 pairs", ratio)
	}
	if len(f.Operations) != 2 || f.Operations[0].Tool != stats.ToolCallingUpstream || !near(f.Operations[0].MeanMS.Value, 3.186) ||
		f.Operations[0].MeanRatio.Pairs != 6 || f.Operations[0].MeanRatio.Same || !f.Operations[1].MeanRatio.Same {
		t.Errorf("operations are %+v", f.Operations)
	}
	if g := r.Cell("fetch", "go").Figures; g.Ratio != nil || g.Operations[0].MeanRatio != nil {
		t.Error("the reference has a ratio to itself")
	}
	var names []string
	for _, n := range r.Noise {
		names = append(names, n.Figure)
		if n.Repeats != 10 || n.Floor < stats.MinFloor {
			t.Errorf("noise of %s is %+v, wanted that of five launches of each server that repeat the first", n.Figure, n)
		}
	}
	if text, err := json.Marshal(f); err != nil || !slices.Contains(names, "mean_ms") {
		t.Errorf("noise of %q, %v", names, err)
	} else {
		for _, name := range names[:len(names)-1] { // the last one is mean_ms
			if !strings.Contains(string(text), `"`+name+`":`) {
				t.Errorf("%s is no member of the figures", name)
			}
		}
	}
	if want := 12 * 9.0 / 120; !near(r.LoadShare, want) {
		t.Errorf("the load's share is %v, wanted %v", r.LoadShare, want)
	}
	r.Launches = r.Launches[:4]
	for i := range r.Launches[2:] { // an hour's break, after which it was gone on with at the second attempt
		l := &r.Launches[2+i]
		l.StartedAt, l.EndedAt = l.StartedAt.Add(time.Hour), l.EndedAt.Add(time.Hour)
	}
	r.ResumedAt = []time.Time{at(2000), at(3500)}
	summarise(t, r, dir)
	if want := 4 * 9.0 / 40; !near(r.LoadShare, want) {
		t.Errorf("the load's share of a resumed run is %v, wanted %v", r.LoadShare, want)
	}
}

func TestUpstreamsLoad(t *testing.T) {
	r, dir := run(t, 6)
	summarise(t, r, dir)
	if u := r.Upstream; u.FastestSubject != "go" || !near(u.AskedPerSecond, 112) {
		t.Errorf("upstream is %+v", u)
	}
}

func TestFewLaunches(t *testing.T) {
	r, dir := run(t, 1)
	summarise(t, r, dir)
	f := r.Cell("fetch", "node").Figures
	if f.CallsPerSecond.Low != nil || f.P50MS.High != nil || f.Ratio.Low != nil || f.Ratio.Pairs != 1 || !near(f.Ratio.Value, 0.5) {
		t.Errorf("got %+v with ratio %+v, wanted no interval", f, f.Ratio)
	}
	if o := f.Operations[0].MeanRatio; o.Same {
		t.Errorf("the mean's ratio is %+v, wanted a difference beyond the noise floor, which is that of equal launches", o)
	}
}

func TestInvalidLaunchEntersNoFigure(t *testing.T) {
	r, dir := run(t, 2)
	var spoilt []int
	for i := range r.Launches {
		if r.Launches[i].Subject == "node" && r.Launches[i].Block == 1 {
			r.Launches[i].Counts.Wrong = 3
			spoilt = append(spoilt, i)
		}
	}
	summarise(t, r, dir)
	c := r.Cell("fetch", "node")
	if len(spoilt) != 1 || c.Launches != 2 || c.Valid != 1 || c.Errors != 3 || !slices.Equal(c.Invalid, []string{"3 wrong answers"}) {
		t.Errorf("got %+v, wanted one of two launches invalid", c)
	}
	if c.Figures == nil || !near(c.Figures.CallsPerSecond.Value, 52) || c.Figures.Ratio.Pairs != 1 {
		t.Errorf("got %+v, wanted the figures of the other launch", c.Figures)
	}

	for i := range r.Launches {
		r.Launches[i].Failure = "bad luck"
	}
	summarise(t, r, dir)
	if c := r.Cell("fetch", "node"); c.Figures != nil || c.Valid != 0 || r.Noise != nil || r.Upstream.FastestSubject != "" {
		t.Errorf("got %+v, noise %v, wanted nothing", c, r.Noise)
	}

	r.Launches = nil
	summarise(t, r, dir)
	if c := r.Cell("fetch", "go"); c.Figures != nil || !slices.Equal(c.Invalid, []string{"no launch"}) || r.LoadShare != 0 {
		t.Errorf("got %+v, wanted a cell without launches", c)
	}
}

func TestSlowUpstreamMakesItsLaunchesInvalid(t *testing.T) {
	r, dir := run(t, 2)
	r.Upstream.CapacityPerSecond = 299
	summarise(t, r, dir)
	for _, subject := range []string{"go", "node"} {
		c := r.Cell("fetch", subject)
		if c.Figures != nil || len(c.Invalid) != 1 || !strings.Contains(c.Invalid[0], "upstream serves 299 calls/s, less than 3 times the 104 that go asked") {
			t.Errorf("fetch %s: got %+v, wanted it invalid because of upstream", subject, c)
		}
	}
}

func TestSessions(t *testing.T) {
	w := mix
	w.Calls = nil
	dir := t.TempDir()
	closedLoad(steady("initialize", "", 50, 3000), steady("notifications/initialized", "", 50, 400), steady("DELETE", "", 50, 600)).Write(t, dir)
	use.Write(t, dir, at(0.3), 9*time.Second, 1<<20)
	l := result.Launch{Folder: ".", Subject: "go", Workload: "mix", StartedAt: at(0), EndedAt: at(10)}
	if err := stats.Observe(w, budget, dir, &l); err != nil {
		t.Fatal(err)
	}
	if want := (result.Counts{Requests: 900, Iterations: 300}); l.Counts != want {
		t.Errorf("counts are %+v, wanted %+v", l.Counts, want)
	}
	r := &result.Run{Experiment: experiment.Experiment{Workloads: []experiment.Workload{w}}, Launches: []result.Launch{l}}
	summarise(t, r, dir)
	f := r.Cell("mix", "go").Figures
	if f == nil || f.CallsPerSecond.Value != 0 || f.IterationsPerSecond.Value != 50 || !near(f.P50MS.Value, 3.17) || !near(f.CPUSecondsPer1000.Value, 10) || len(f.Operations) != 3 {
		t.Errorf("got %+v of %q", f, r.Launches[0].Invalid)
	}
}

func TestJudgements(t *testing.T) {
	r, dir := run(t, 6)
	r.Published = &published.Table{Conclusions: []published.Conclusion{
		{Figure: published.RequestsPerSecond, Server: "go", Against: "node", Ratio: 1.9},
		{Figure: published.MeanMS, Tool: stats.ToolCallingUpstream, Server: "node", Against: "go", Ratio: 93},
		{Figure: published.CPUPercent, Server: "node", Against: "go", Ratio: 0.5},
		{Figure: published.MemoryMB, Server: "java", Against: "go", Ratio: 12},
		{Figure: published.MeanMS, Method: experiment.MethodListTools, Server: "node", Against: "go", Ratio: 2},
	}}
	// A variant belongs to the server too.
	for i := range r.Launches {
		r.Launches[i].Subject = strings.Replace(r.Launches[i].Subject, "node", "node/stateful", 1)
	}
	r.Experiment.Workloads[0].Subjects = []string{"go", "node/stateful"}
	summarise(t, r, dir)
	var got []string
	for _, j := range r.Judgements {
		got = append(got, fmt.Sprintf("%s %d %s %.2f %d", j.Workload, j.Conclusion, j.Outcome, j.Measured.Value, j.Measured.Pairs))
	}
	if want := []string{"fetch 0 holds 1.96 6", "fetch 1 smaller 2.32 6", "fetch 2 no_difference 1.00 6"}; !slices.Equal(got, want) {
		t.Errorf("got %q, wanted %q", got, want)
	}
}
