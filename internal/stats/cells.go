package stats

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/perf/benchmath"

	"github.com/mcp-parity/mcp-parity/internal/result"
)

// Summarise judges every launch of the run, in dir, and fills in all that follows from the launches: Launch.Invalid, what
// was asked of upstream, and Cells. A raw file that is missing or damaged makes its launch invalid.
func Summarise(run *result.Run, dir string) error {
	callsUpstream := map[string]bool{}
	for _, w := range run.Experiment.Workloads {
		callsUpstream[w.Name] = w.Tool == ToolCallingUpstream
	}
	histograms := make([]*hdrhistogram.Histogram, len(run.Launches))
	for i := range run.Launches {
		l := &run.Launches[i]
		l.Invalid = Judge(*l)
		if len(l.Invalid) > 0 {
			continue
		}
		h, err := ReadHistogram(filepath.Join(dir, filepath.FromSlash(l.Histogram)))
		switch {
		case err != nil:
			l.Invalid = []string{err.Error()}
		case h.TotalCount() != l.Counts.OK:
			l.Invalid = []string{fmt.Sprintf("the histogram holds %d calls, but %d were counted", h.TotalCount(), l.Counts.OK)}
		}
		histograms[i] = h
	}
	if u := run.Upstream; u != nil {
		u.AskedPerSecond, u.FastestSubject = 0, ""
		for _, l := range run.Launches {
			if rate := l.CallsPerSecond(); callsUpstream[l.Workload] && len(l.Invalid) == 0 && rate > u.AskedPerSecond {
				u.AskedPerSecond, u.FastestSubject = rate, l.Subject
			}
		}
		if reason := upstreamInvalid(*u); reason != "" {
			for i := range run.Launches {
				if l := &run.Launches[i]; callsUpstream[l.Workload] {
					l.Invalid = append(l.Invalid, reason)
				}
			}
		}
	}

	run.Cells = nil
	for _, w := range run.Experiment.Workloads {
		for _, s := range run.Experiment.Subjects {
			cell := result.Cell{Workload: w.Name, Subject: s}
			var launches []result.Launch
			var merge []*hdrhistogram.Histogram
			for i, l := range run.Launches {
				if l.Workload != w.Name || l.Subject != s {
					continue
				}
				launches, merge = append(launches, l), append(merge, histograms[i])
				cell.Errors += l.Counts.Errors()
				for _, reason := range l.Invalid {
					if !slices.Contains(cell.Invalid, reason) {
						cell.Invalid = append(cell.Invalid, reason)
					}
				}
			}
			cell.Launches = len(launches)
			if len(launches) == 0 {
				cell.Invalid = []string{"no launch"}
			}
			if len(cell.Invalid) == 0 {
				merged, err := Merge(merge)
				if err != nil {
					return fmt.Errorf("%s %s: %w", s, w.Name, err)
				}
				cell.Figures = figures(launches, merged)
			}
			run.Cells = append(run.Cells, cell)
		}
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		if ref := run.Cell(c.Workload, run.Experiment.Reference).Figures; c.Figures != nil && ref != nil {
			ratio := c.Figures.CallsPerSecond / ref.CallsPerSecond
			c.Figures.Ratio = &ratio
		}
	}
	return nil
}

// figures computes the figures of valid launches.
func figures(launches []result.Launch, latency *hdrhistogram.Histogram) *result.Figures {
	var rates, cpu, idle []float64
	var peak int64
	for _, l := range launches {
		rates = append(rates, l.CallsPerSecond())
		cpu = append(cpu, *l.Server.CPUSeconds/float64(l.Counts.OK)*1000)
		idle = append(idle, float64(l.Server.MemoryIdleBytes))
		peak = max(peak, l.Server.MemoryPeakBytes)
	}
	milliseconds := func(percentile float64) float64 { return float64(latency.ValueAtPercentile(percentile)) / 1000 } // from microseconds
	return &result.Figures{
		CallsPerSecond:    median(rates),
		P50MS:             milliseconds(50),
		P95MS:             milliseconds(95),
		P99MS:             milliseconds(99),
		CPUSecondsPer1000: median(cpu),
		MemoryIdleBytes:   int64(median(idle)),
		MemoryPeakBytes:   peak,
	}
}

func median(values []float64) float64 {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), 0.95).Center
}
