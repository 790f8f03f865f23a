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

// pairs returns the valid launches of a subject in a workload with those of another in the same block. One that was made again is alone in its
// block.
func pairs(run *result.Run, workload, subject, against string) []pair {
	var found []pair
	for i, l := range run.Launches {
		if l.Workload != workload || l.Subject != subject || len(l.Invalid) > 0 {
			continue
		}
		j := slices.IndexFunc(run.Launches, func(o result.Launch) bool {
			return o.Block == l.Block && o.Subject == against && len(o.Invalid) == 0
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
// interval, which takes the logarithms for normal: there is no other way to an interval with so few. One pair has none, and there the noise
// floor says what is a difference. The interval knows more: what the machine does from one block to the next is in the floor, and not in it.
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
	within := func(floor float64) bool { return math.Abs(s.Center) <= math.Log1p(floor) }
	if len(logs) == 1 {
		r.Same = floor == nil || within(*floor)
		return r
	}
	low, high := math.Exp(s.Lo), math.Exp(s.Hi)
	r.Low, r.High = &low, &high
	r.Same = low <= 1 && high >= 1 || within(MinFloor)
	return r
}

// meanFigure is the name of the noise floor of operations' means.
const meanFigure = "mean_ms"

// equals are the valid launches of one subject under one workload. There are two of them at least.
type equals []*result.Launch

// equalsOf returns all launches of the run that have equals.
func equalsOf(run *result.Run) []equals {
	var found []equals
	for _, w := range run.Experiment.Workloads {
		for _, s := range w.Subjects {
			var launches equals
			for i, l := range run.Launches {
				if l.Workload == w.Name && l.Subject == s && len(l.Invalid) == 0 {
					launches = append(launches, &run.Launches[i])
				}
			}
			if len(launches) > 1 {
				found = append(found, launches)
			}
		}
	}
	return found
}

// spread is what equal launches differ by in a figure.
type spread struct {
	squares float64 // of the distances of logarithms from the mean of their equals
	freedom int     // degrees of freedom of that
}

// add adds what launches that are equal differ by. Those of which the figure is not known, or nothing, are left out.
func (s *spread) add(launches equals, value func(result.Launch) (float64, bool)) {
	var logs []float64
	for _, l := range launches {
		if v, ok := value(*l); ok && v > 0 {
			logs = append(logs, math.Log(v))
		}
	}
	if len(logs) < 2 {
		return
	}
	center := mean(logs)
	for _, l := range logs {
		s.squares += (l - center) * (l - center)
	}
	s.freedom += len(logs) - 1
}

// noiseOf computes the noise floor of each figure from what equal launches differ by, of all subjects and workloads together. They are
// minutes apart, so that what the machine does meanwhile is in it. The floor is that of single launches: figures over several differ by
// less. own has the launches' own percentiles, by the launch's number.
func noiseOf(run *result.Run, own map[int][]float64) []result.Noise {
	all := equalsOf(run)
	var floors []result.Noise
	add := func(name string, value func(result.Launch) float64) {
		var s spread
		for _, launches := range all {
			s.add(launches, always(value))
		}
		if s.freedom > 0 {
			floors = append(floors, result.Noise{Figure: name, Repeats: s.freedom, Floor: s.floor(s.freedom)})
		}
	}
	for _, p := range plain {
		add(p.name, p.of)
	}
	for i, p := range percentiles {
		add(p.name, func(l result.Launch) float64 { return own[l.Number][i] })
	}

	// The operations of a launch are disturbed together: they have as many degrees of freedom as launches.
	var operations spread
	repeats := 0
	for _, launches := range all {
		before := operations.freedom
		for _, o := range launches[0].Operations {
			operations.add(launches, meanOf(o.Method, o.Tool))
		}
		if operations.freedom > before {
			repeats += len(launches) - 1
		}
	}
	if repeats > 0 {
		floors = append(floors, result.Noise{Figure: meanFigure, Repeats: repeats, Floor: operations.floor(repeats)})
	}
	return floors
}

// floor is by what factor more than 1 the greater of two equal launches is at most, in floorConfidence of all cases: the difference of two
// logarithms has twice the variance of one, and is within Student's quantile times its standard deviation.
func (s spread) floor(freedom int) float64 {
	deviation := math.Sqrt(2 * s.squares / float64(s.freedom))
	t := stats.InvCDF(stats.TDist{V: float64(freedom)})(1 - (1-floorConfidence)/2)
	return max(MinFloor, math.Expm1(t*deviation))
}
