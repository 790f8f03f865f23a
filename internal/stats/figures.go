package stats

import (
	"math"
	"path/filepath"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/perf/benchmath"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

// confidence is that of every interval.
const confidence = 0.95

// figure is a figure of a launch that is known without its histograms: its name is the one that it has in run.json.
type figure struct {
	name string
	// of returns the figure of a valid launch.
	of func(result.Launch) float64
	// in is its place among a cell's figures.
	in func(*result.Figures) *result.Figure
}

// plain are the figures that are the median over launches.
var plain = []figure{
	{"calls_per_second", callsPerSecond, func(f *result.Figures) *result.Figure { return &f.CallsPerSecond }},
	{"iterations_per_second", iterationsPerSecond, func(f *result.Figures) *result.Figure { return &f.IterationsPerSecond }},
	{"requests_per_second", requestsPerSecond, func(f *result.Figures) *result.Figure { return &f.RequestsPerSecond }},
	{"request_mean_ms", requestMean, func(f *result.Figures) *result.Figure { return &f.RequestMeanMS }},
	{"cpu_seconds_per_1000", cpuPer1000, func(f *result.Figures) *result.Figure { return &f.CPUSecondsPer1000 }},
	{"cpu_share", cpuShare, func(f *result.Figures) *result.Figure { return &f.CPUShare }},
	{"memory_idle_bytes", func(l result.Launch) float64 { return float64(l.Server.MemoryIdleBytes) }, func(f *result.Figures) *result.Figure { return &f.MemoryIdle }},
	{"memory_mean_bytes", func(l result.Launch) float64 { return float64(l.Server.MemoryMeanBytes) }, func(f *result.Figures) *result.Figure { return &f.MemoryMean }},
	{"memory_peak_bytes", func(l result.Launch) float64 { return float64(l.Server.MemoryPeakBytes) }, func(f *result.Figures) *result.Figure { return &f.MemoryPeak }},
}

func callsPerSecond(l result.Launch) float64      { return float64(l.Counts.OK) / l.Window.Seconds() }
func iterationsPerSecond(l result.Launch) float64 { return l.Counts.Iterations / l.Window.Seconds() }
func requestsPerSecond(l result.Launch) float64 {
	return float64(l.Counts.Requests) / l.Window.Seconds()
}
func cpuShare(l result.Launch) float64 { return *l.Server.CPUSeconds / l.Window.Seconds() }

// rate is what servers are compared by: calls, or iterations where there are none.
func rate(l result.Launch) float64 {
	if l.Counts.OK > 0 {
		return callsPerSecond(l)
	}
	return iterationsPerSecond(l)
}

func cpuPer1000(l result.Launch) float64 { return 1000 * cpuShare(l) / rate(l) }

// requestMean is the mean over all requests, from the means of the operations: a mean may be averaged, by number.
func requestMean(l result.Launch) float64 {
	var sum float64
	for _, o := range l.Operations {
		sum += o.Latency.MeanMS * float64(o.OK)
	}
	return sum / float64(l.Counts.Requests)
}

// meanOf returns a function for the mean latency of an operation: false of a launch that has none.
func meanOf(method, tool string) func(result.Launch) (float64, bool) {
	return func(l result.Launch) (float64, bool) {
		for _, o := range l.Operations {
			if o.Method == method && o.Tool == tool {
				return o.Latency.MeanMS, true
			}
		}
		return 0, false
	}
}

// always makes of a figure that every launch has what meanOf returns.
func always(of func(result.Launch) float64) func(result.Launch) (float64, bool) {
	return func(l result.Launch) (float64, bool) { return of(l), true }
}

// percentile is one that a run has figures of.
type percentile struct {
	name string
	of   float64
	in   func(*result.Figures) *result.Figure
}

var percentiles = []percentile{
	{"p50_ms", 50, func(f *result.Figures) *result.Figure { return &f.P50MS }},
	{"p95_ms", 95, func(f *result.Figures) *result.Figure { return &f.P95MS }},
	{"p99_ms", 99, func(f *result.Figures) *result.Figure { return &f.P99MS }},
}

// latencies are the histograms of a launch's window, in the order of its operations; all is the merged one of what the workload is
// counted in.
type latencies struct {
	all        *hdrhistogram.Histogram
	operations []*hdrhistogram.Histogram
}

// readLatencies reads the histograms that a valid launch names.
func readLatencies(w experiment.Workload, l result.Launch, dir string) (latencies, error) {
	h := latencies{all: newHistogram()}
	for _, o := range l.Operations {
		one, err := ReadHistogram(filepath.Join(dir, filepath.FromSlash(o.Histogram)), *l.Window)
		if err != nil {
			return latencies{}, err
		}
		h.operations = append(h.operations, one)
		if counted(w, o) {
			if err := mergeInto(h.all, one); err != nil {
				return latencies{}, err
			}
		}
	}
	return h, nil
}

// percentiles are the launch's own, in the order of the package's.
func (h latencies) percentiles() []float64 {
	var own []float64
	for _, p := range percentiles {
		own = append(own, milliseconds(h.all.ValueAtPercentile(p.of)))
	}
	return own
}

// figuresOf computes the figures of a cell from its valid launches, at least one.
func figuresOf(launches []result.Launch, read []latencies) (*result.Figures, error) {
	f := &result.Figures{}
	for _, p := range plain {
		var values []float64
		for _, l := range launches {
			values = append(values, p.of(l))
		}
		*p.in(f) = overLaunches(values)
	}
	var all []*hdrhistogram.Histogram
	for i, l := range launches {
		f.Limited = f.Limited || l.Limited
		f.GeneratorShare = max(f.GeneratorShare, l.Generator.Share)
		all = append(all, read[i].all)
	}
	merged, err := Merge(all)
	if err != nil {
		return nil, err
	}
	for _, p := range percentiles {
		*p.in(f) = pooled(p.of, merged, all)
	}
	f.Operations, err = operationsOf(launches, read)
	return f, err
}

// operationsOf computes the figures of each operation, in the order in which launches name them.
func operationsOf(launches []result.Launch, read []latencies) ([]result.OperationFigures, error) {
	var figures []result.OperationFigures
	for _, l := range launches {
		for _, o := range l.Operations {
			if slices.ContainsFunc(figures, func(f result.OperationFigures) bool { return f.Method == o.Method && f.Tool == o.Tool }) {
				continue
			}
			var means []float64
			var all []*hdrhistogram.Histogram
			for i, l := range launches {
				for j, other := range l.Operations {
					if other.Method == o.Method && other.Tool == o.Tool {
						means, all = append(means, other.Latency.MeanMS), append(all, read[i].operations[j])
					}
				}
			}
			merged, err := Merge(all)
			if err != nil {
				return nil, err
			}
			figures = append(figures, result.OperationFigures{
				Method: o.Method, Tool: o.Tool, MeanMS: overLaunches(means),
				P50MS: pooled(50, merged, all), P95MS: pooled(95, merged, all), P99MS: pooled(99, merged, all),
			})
		}
	}
	return figures, nil
}

// overLaunches returns the median and its interval, which is made of order statistics: nothing is assumed of how values are distributed.
// With fewer than six values there is none of that confidence.
func overLaunches(values []float64) result.Figure {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), confidence)
	f := result.Figure{Value: s.Center}
	if !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) {
		f.Low, f.High = &s.Lo, &s.Hi
	}
	return f
}

// pooled returns a percentile of the merged histogram. Its interval is that of the launches' own percentiles, drawn out to the value
// where it would not reach it: one launch with many slow calls moves the value and not the median of launches.
func pooled(percentile float64, merged *hdrhistogram.Histogram, launches []*hdrhistogram.Histogram) result.Figure {
	var own []float64
	for _, h := range launches {
		own = append(own, milliseconds(h.ValueAtPercentile(percentile)))
	}
	f := overLaunches(own)
	f.Value = milliseconds(merged.ValueAtPercentile(percentile))
	if f.Low != nil {
		*f.Low, *f.High = min(*f.Low, f.Value), max(*f.High, f.Value)
	}
	return f
}
