package stats

import (
	"math"
	"slices"
	"strings"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/published"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

// HoldsWithin is the factor within which a measured ratio confirms a published one. Another machine, other versions and another
// budget move ratios of servers by tens of percent; a claim is about which is faster and by how much roughly.
const HoldsWithin = 1.25

// judgementsOf judges the published conclusions by each workload that measured both servers of one.
func judgementsOf(run *result.Run) []result.Judgement {
	if run.Published == nil {
		return nil
	}
	var judgements []result.Judgement
	for _, w := range run.Experiment.Workloads {
		if w.Load.Shape != experiment.ShapeClosed {
			continue // the published figures are those of a closed load
		}
		for i, c := range run.Published.Conclusions {
			subject, against := subjectOf(w, c.Server), subjectOf(w, c.Against)
			if subject == "" || against == "" {
				continue
			}
			name, value := concluded(c)
			measured := ratioOf(logRatios(pairs(run, w.Name, subject, against), value), run.Floor(name))
			if measured != nil {
				judgements = append(judgements, result.Judgement{
					Workload: w.Name, Conclusion: i, Measured: *measured, Outcome: outcome(c.Ratio, *measured, run.Floor(name)),
				})
			}
		}
	}
	return judgements
}

// subjectOf returns the first subject of the workload that is the server, or a variant of it; "" if there is none.
func subjectOf(w experiment.Workload, server string) string {
	i := slices.IndexFunc(w.Subjects, func(id string) bool {
		name, _, _ := strings.Cut(id, "/")
		return name == server
	})
	if i < 0 {
		return ""
	}
	return w.Subjects[i]
}

// concluded returns what a conclusion is about: the name of its noise floor, and the figure of a launch.
func concluded(c published.Conclusion) (name string, value func(result.Launch) (float64, bool)) {
	switch {
	case c.Tool != "":
		return meanFigure, meanOf("tools/call", c.Tool)
	case c.Method != "":
		return meanFigure, meanOf(c.Method, "")
	}
	name = map[string]string{
		published.MeanMS: "request_mean_ms", published.RequestsPerSecond: "requests_per_second",
		published.CPUPercent: "cpu_share", published.MemoryMB: "memory_mean_bytes",
	}[c.Figure]
	i := slices.IndexFunc(plain, func(f figure) bool { return f.name == name })
	return name, always(plain[i].of)
}

// outcome compares a published ratio with the measured one.
func outcome(claimed float64, measured result.Ratio, floor *float64) string {
	noise := MinFloor
	if floor != nil {
		noise = *floor
	}
	low, high := measured.Value/(1+noise), measured.Value*(1+noise)
	if measured.Low != nil {
		low, high = *measured.Low, *measured.High
	}
	differs := math.Abs(math.Log(claimed)) > math.Log1p(MinFloor) // or else the claim is that there is no difference
	switch {
	case measured.Same && differs:
		return result.NoDifference
	case low <= claimed*HoldsWithin && high >= claimed/HoldsWithin:
		return result.Holds
	case differs && (claimed > 1) != (measured.Value > 1):
		return result.Reversed
	case math.Abs(math.Log(measured.Value)) < math.Abs(math.Log(claimed)):
		return result.SmallerThanPublished
	}
	return result.LargerThanPublished
}
