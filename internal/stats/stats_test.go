package stats_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

var t0 = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }

func TestCPUBetween(t *testing.T) {
	samples := []stats.Sample{
		{At: at(0), CPU: 1 * time.Second},
		{At: at(1), CPU: 1 * time.Second},
		{At: at(2), CPU: 3 * time.Second},
		{At: at(4), CPU: 4 * time.Second},
	}
	for _, test := range []struct {
		name       string
		start, end float64
		want       time.Duration
	}{
		{"on readings", 0, 4, 3 * time.Second},
		{"between readings", 0.5, 3, 2500 * time.Millisecond},
		{"between the same two readings", 1.25, 1.75, time.Second},
		{"where nothing was used", 0, 1, 0},
	} {
		got, err := stats.CPUBetween(samples, at(test.start), at(test.end))
		if err != nil || got != test.want {
			t.Errorf("%s: got %v, %v, wanted %v", test.name, got, err, test.want)
		}
	}
	for _, test := range []struct {
		name       string
		samples    []stats.Sample
		start, end float64
		want       string
	}{
		{"none", nil, 0, 1, "no reading"},
		{"starts before", samples, -0.5, 1, "first reading was 500ms too late"},
		{"ends after", samples, 0, 5, "last reading was 1s too early"},
		{"backwards", samples, 2, 1, "ends 1s before it starts"},
	} {
		if _, err := stats.CPUBetween(test.samples, at(test.start), at(test.end)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, wanted %q in it", test.name, err, test.want)
		}
	}
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	want := []stats.Sample{
		{At: time.Unix(1, 0).UTC(), CPU: 5 * time.Microsecond, MemoryBytes: 7, PeakBytes: 8},
		{At: time.Unix(1, 250_001_000).UTC(), CPU: time.Second + 5*time.Microsecond, MemoryBytes: 6, PeakBytes: 9},
	}
	if err := stats.WriteUsage(dir, want); err != nil {
		t.Fatal(err)
	}
	if got, err := stats.ReadUsage(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, wanted %v", got, err, want)
	}
	const header = "unix_us,cpu_us,memory_bytes,memory_peak_bytes\n"
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "wanted the header"},
		{"no reading", header, "a line for each reading"},
		{"another header", "unix_ms,cpu_us,memory_bytes,memory_peak_bytes\n1,2,3,4\n", "wanted the header"},
		{"a column less", header + "1,2,3\n", "line 2: wrong number of fields"},
		{"not a number", header + "1,2,x,4\n", "line 2, memory_bytes: "},
		{"back in time", header + "2,2,3,4\n2,3,4,5\n", "line 3 is not later"},
	} {
		if err := os.WriteFile(filepath.Join(dir, stats.UsageFile), []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := stats.ReadUsage(dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, wanted %q in it", test.name, err, test.want)
		}
	}
}

// writeHistogram writes values in microseconds as k6/x/mcp does.
func writeHistogram(t *testing.T, path string, values []int64) {
	t.Helper()
	h := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	for _, v := range values {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := hdrhistogram.NewHistogramLogWriter(file)
	for _, write := range []func() error{
		w.OutputLogFormatVersion,
		w.OutputLegend,
		func() error { return w.OutputIntervalHistogram(h) },
		file.Close,
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMergedPercentiles proves that percentiles come from merged histograms: a fast launch with many calls and a slow one
// with few have a common median near the fast one's, and not half way.
func TestMergedPercentiles(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	var all []int64
	var histograms []*hdrhistogram.Histogram
	for i, launch := range []struct{ n, mean int64 }{{9000, 2_000}, {1000, 40_000}} {
		var values []int64
		for range launch.n {
			values = append(values, launch.mean/2+random.Int64N(launch.mean))
		}
		path := filepath.Join(dir, string(rune('a'+i))+".hlog")
		writeHistogram(t, path, values)
		h, err := stats.ReadHistogram(path)
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
		want := float64(all[int(percentile/100*float64(len(all)))-1])
		if got := float64(merged.ValueAtPercentile(percentile)); got < want*0.998 || got > want*1.002 {
			t.Errorf("p%v is %v, wanted %v", percentile, got, want)
		}
	}
}

func TestReadHistogramErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := stats.ReadHistogram(filepath.Join(dir, "none.hlog")); err == nil || err.Error() != "read the histogram none.hlog: no such file or directory" {
		t.Errorf("got %v, wanted an error that does not name the folder", err)
	}
	empty := filepath.Join(dir, "empty.hlog")
	if err := os.WriteFile(empty, []byte("#[Histogram log format version 1.3]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := stats.ReadHistogram(empty); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("got %v, wanted an error", err)
	}
}

// good is a launch of 1,000 calls in 10 s that used 2 s of CPU.
func good() result.Launch {
	cpu := 2.0
	return result.Launch{
		Window:    &result.Window{Start: at(2), End: at(12)},
		Counts:    result.Counts{OK: 1000},
		Histogram: "x.hlog",
		Server:    result.Server{CPUSeconds: &cpu, MemoryIdleBytes: 10, MemoryPeakBytes: 30, MemoryEndBytes: 20},
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
		{"exit code", func(l *result.Launch) { l.Generator.ExitCode = 107 }, []string{"k6 ended with exit code 107"}},
		{"no calls", func(l *result.Launch) { l.Counts.OK, l.Window = 0, nil }, []string{"no successful call in the window"}},
		{"no histogram", func(l *result.Launch) { l.Histogram = "" }, []string{"no successful call in the window"}},
		{"no CPU time", func(l *result.Launch) { l.Server.CPUSeconds = nil }, []string{"the server's CPU time was not read over the whole window"}},
		{"failure", func(l *result.Launch) { *l = result.Launch{Failure: "the server did not start: exit 1"} },
			[]string{"the server did not start: exit 1"}},
	} {
		l := good()
		test.spoil(&l)
		if got := stats.Judge(l); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, wanted %q", test.name, got, test.want)
		}
	}
}

// run is a run of two subjects and two workloads, two launches of each cell, all good; upstream is four times as fast as needed.
func run(t *testing.T) (*result.Run, string) {
	dir := t.TempDir()
	r := &result.Run{
		Experiment: experiment.Experiment{
			Subjects: []string{"go", "node"}, Reference: "go", Launches: 2,
			Workloads: []experiment.Workload{{Name: "list", Method: "tools/list"}, {Name: "fetch", Tool: "fetch_external_data"}},
		},
		Upstream: &result.Upstream{CapacityPerSecond: 400},
	}
	for i, launch := range []struct {
		subject string
		mean    int64
		cpu     float64
	}{{"go", 1000, 2}, {"go", 3000, 3}, {"node", 2000, 4}, {"node", 4000, 8}} {
		for _, workload := range []string{"list", "fetch"} {
			l := good()
			l.Subject, l.Workload, l.Histogram = launch.subject, workload, "launches/"+launch.subject+workload+string(rune('a'+i))+".hlog"
			l.Server.CPUSeconds = &launch.cpu
			l.Server.MemoryIdleBytes, l.Server.MemoryPeakBytes = int64(10*(i+1)), int64(100*(i+1))
			values := make([]int64, l.Counts.OK)
			for j := range values {
				values[j] = launch.mean
			}
			writeHistogram(t, filepath.Join(dir, l.Histogram), values)
			if launch.subject == "node" {
				l.Window.End = at(2 + 20) // half the rate
			}
			r.Launches = append(r.Launches, l)
		}
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
	r, dir := run(t)
	summarise(t, r, dir)
	var order []string
	for _, c := range r.Cells {
		order = append(order, c.Workload+" "+c.Subject)
	}
	if want := []string{"list go", "list node", "fetch go", "fetch node"}; !slices.Equal(order, want) {
		t.Errorf("cells are %q, wanted %q", order, want)
	}
	c := r.Cell("list", "node")
	if c.Figures == nil || c.Launches != 2 || c.Errors != 0 || c.Invalid != nil {
		t.Fatalf("got %+v, wanted a valid cell of 2 launches", c)
	}
	f := *c.Figures
	for _, figure := range []struct {
		name      string
		got, want float64
	}{
		{"calls/s", f.CallsPerSecond, 50},
		{"ratio", *f.Ratio, 0.5},
		{"p50", f.P50MS, 2},
		{"p99", f.P99MS, 4},
		{"CPU per 1,000", f.CPUSecondsPer1000, 6},
		{"memory idle", float64(f.MemoryIdleBytes), 35},
		{"memory peak", float64(f.MemoryPeakBytes), 400},
		{"upstream asked", r.Upstream.AskedPerSecond, 100},
	} {
		if figure.got < figure.want*0.999 || figure.got > figure.want*1.001 {
			t.Errorf("%s is %v, wanted %v", figure.name, figure.got, figure.want)
		}
	}
	if got := *r.Cell("list", "go").Figures.Ratio; got != 1 {
		t.Errorf("the reference's ratio is %v, wanted 1", got)
	}
	if r.Upstream.FastestSubject != "go" {
		t.Errorf("the fastest is %q, wanted go", r.Upstream.FastestSubject)
	}
}

func TestOneInvalidLaunchMakesTheCellInvalid(t *testing.T) {
	r, dir := run(t)
	r.Launches[0].Counts.Wrong = 3 // go list
	summarise(t, r, dir)
	c := r.Cell("list", "go")
	if c.Figures != nil || c.Errors != 3 || !slices.Equal(c.Invalid, []string{"3 wrong answers"}) {
		t.Errorf("got %+v, wanted an invalid cell with 3 wrong answers", c)
	}
	if f := r.Cell("list", "node").Figures; f == nil || f.Ratio != nil {
		t.Errorf("got %+v, wanted figures without a ratio, because the reference is invalid", f)
	}
	if f := r.Cell("fetch", "go").Figures; f == nil || f.Ratio == nil {
		t.Errorf("got %+v, wanted the other workload untouched", f)
	}
}

func TestSlowUpstreamMakesItsCellsInvalid(t *testing.T) {
	r, dir := run(t)
	r.Upstream.CapacityPerSecond = 299
	summarise(t, r, dir)
	for _, subject := range []string{"go", "node"} {
		c := r.Cell("fetch", subject)
		if c.Figures != nil || len(c.Invalid) != 1 || !strings.Contains(c.Invalid[0], "upstream serves 299 calls/s, less than 3 times the 100 that go asked") {
			t.Errorf("fetch %s: got %+v, wanted it invalid because of upstream", subject, c)
		}
		if r.Cell("list", subject).Figures == nil {
			t.Errorf("list %s: wanted it valid", subject)
		}
	}
}

func TestDamagedHistogramMakesTheLaunchInvalid(t *testing.T) {
	r, dir := run(t)
	r.Launches[0].Counts.OK++
	if err := os.Remove(filepath.Join(dir, r.Launches[1].Histogram)); err != nil {
		t.Fatal(err)
	}
	summarise(t, r, dir)
	if got := r.Launches[0].Invalid; !slices.Equal(got, []string{"the histogram holds 1000 calls, but 1001 were counted"}) {
		t.Errorf("got %q", got)
	}
	if got := r.Launches[1].Invalid; len(got) != 1 || !strings.Contains(got[0], "read the histogram") {
		t.Errorf("got %q", got)
	}
}
