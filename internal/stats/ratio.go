package stats

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"

	"github.com/mcp-parity/mcp-parity/internal/result"
)

// minRankPairs is the number of pairs from which on order statistics give an interval of 95 %: with five, the least and the greatest of
// them hold the median between them in only 1−2·(1/2)⁵ = 93.75 % of all cases.
const minRankPairs = 6

// MinFloor is the least noise floor. The layout of code and data in memory alone, which is another one in every build, moves figures by some
// percent (Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously Wrong!", ASPLOS 2009), and launches of one build do not
// show that.
const MinFloor = 0.05

// floorConfidence is the share of ratios of equal launches that are within the noise floor. A run prints dozens of figures, of workloads that
// are not equally noisy: with 95 %, two runs of one server would often differ by more in more than one of twenty. See TestFloorHolds.
const floorConfidence = 0.99

// pair are two launches of the same block.
type pair struct{ one, other *result.Launch }

// pairs returns the valid launches of a subject in a workload with those of another in the same block. Those that were made again
// are left out.
func pairs(run *result.Run, workload, subject, against string) []pair {
	return pairsOf(run, func(l result.Launch) bool { return l.Workload == workload && l.Subject == subject && !l.Again },
		func(l result.Launch) bool { return l.Subject == against && !l.Again })
}

// againPairs returns the launches of references that were made again with the first ones of their blocks, of all workloads.
func againPairs(run *result.Run) []pair {
	return pairsOf(run, func(l result.Launch) bool { return l.Again }, func(l result.Launch) bool { return !l.Again })
}

func pairsOf(run *result.Run, one, other func(result.Launch) bool) []pair {
	var found []pair
	for i, l := range run.Launches {
		if !one(l) || len(l.Invalid) > 0 {
			continue
		}
		j := slices.IndexFunc(run.Launches, func(o result.Launch) bool {
			return o.Block == l.Block && o.Workload == l.Workload && (!l.Again || o.Subject == l.Subject) && len(o.Invalid) == 0 && other(o)
		})
		if j >= 0 {
			found = append(found, pair{&run.Launches[i], &run.Launches[j]})
		}
	}
	return found
}

// logRatios returns the logarithms of one launch's value over the other's. Pairs of which either has none, or nothing, are left out.
func logRatios(pairs []pair, value func(result.Launch) (float64, bool)) []float64 {
	var logs []float64
	for _, p := range pairs {
		one, hasOne := value(*p.one)
		other, hasOther := value(*p.other)
		if hasOne && hasOther && one > 0 && other > 0 {
			logs = append(logs, math.Log(one/other))
		}
	}
	return logs
}

// ratioOf makes a ratio of the logarithms of pairs; nil if there are none. The machine is much the same within a block, so that what pairs
// have in common cancels out (Bulej et al., "Duet Benchmarking", arXiv 2001.05811).
//
// With six pairs or more it is their median, and nothing is assumed of their distribution; with fewer, the geometric mean with Student's
// interval, which takes the logarithms for normal: there is no other way to an interval with so few.
func ratioOf(logs []float64, floor *float64) *result.Ratio {
	if len(logs) == 0 {
		return nil
	}
	sample := benchmath.NewSample(slices.Clone(logs), &benchmath.DefaultThresholds)
	var s benchmath.Summary
	if len(logs) >= minRankPairs {
		s = benchmath.AssumeNothing.Summary(sample, confidence)
	} else {
		s = benchmath.AssumeNormal.Summary(sample, confidence)
	}
	r := &result.Ratio{Value: math.Exp(s.Center), Pairs: len(logs)}
	if len(logs) > 1 {
		low, high := math.Exp(s.Lo), math.Exp(s.Hi)
		r.Low, r.High = &low, &high
		r.Same = low <= 1 && high >= 1
	}
	known := MinFloor
	if floor != nil {
		known = *floor
	}
	r.Same = r.Same || math.Abs(s.Center) <= math.Log1p(known) || len(logs) == 1 && floor == nil
	return r
}

// meanFigure is the name of the noise floor of operations' means.
const meanFigure = "mean_ms"

// noiseOf computes the noise floor of each figure from the A/A pairs. Their log ratios have the mean 0, because the two launches differ in
// nothing, so that s² is the mean of their squares, with as many degrees of freedom as there are pairs; floorConfidence of such ratios are
// within Student's quantile times s. Pairs of all workloads are put together. The floor is that of single launches: figures over several
// differ by less. own has the launches' own percentiles, by the launch's number.
func noiseOf(run *result.Run, own map[int][]float64) []result.Noise {
	again := againPairs(run)
	var floors []result.Noise
	add := func(name string, value func(result.Launch) float64) {
		logs := logRatios(again, always(value))
		if len(logs) > 0 {
			floors = append(floors, result.Noise{Figure: name, Pairs: len(logs), Floor: floorOf(logs, len(logs))})
		}
	}
	for _, p := range plain {
		add(p.name, p.of)
	}
	for i, p := range percentiles {
		add(p.name, func(l result.Launch) float64 { return own[l.Number][i] })
	}

	// The operations of a launch are disturbed together: there are as many degrees of freedom as launches.
	var logs []float64
	n := 0
	for _, p := range again {
		before := len(logs)
		for _, o := range p.one.Operations {
			logs = append(logs, logRatios([]pair{p}, meanOf(o.Method, o.Tool))...)
		}
		if len(logs) > before {
			n++
		}
	}
	if n > 0 {
		floors = append(floors, result.Noise{Figure: meanFigure, Pairs: n, Floor: floorOf(logs, n)})
	}
	return floors
}

// floorOf is the noise floor of log ratios that come from n pairs.
func floorOf(logs []float64, n int) float64 {
	var squares float64
	for _, l := range logs {
		squares += l * l
	}
	s := math.Sqrt(squares / float64(len(logs)))
	t := stats.InvCDF(stats.TDist{V: float64(n)})(1 - (1-floorConfidence)/2)
	return max(MinFloor, math.Expm1(t*s))
}

// floor returns the noise floor of a figure of the run, or nil.
func floor(run *result.Run, figure string) *float64 {
	for _, n := range run.Noise {
		if n.Figure == figure {
			return &n.Floor
		}
	}
	return nil
}
