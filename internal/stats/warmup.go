package stats

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

// How a series behaves, after Barrett et al., "Virtual Machine Warmup Blows Hot and Cold" (OOPSLA 2017): a server may become faster until
// it is warm, or slower, and it may never come to rest.
const (
	// ClassFlat: there is no change of level.
	ClassFlat = "flat"
	// ClassWarmup: the last level is the best one.
	ClassWarmup = "warmup"
	// ClassSlowdown: an earlier level was better than the last one.
	ClassSlowdown = "slowdown"
	// ClassUnsteady: the level changes so late that less than MinSteady of the window is left, or drifts by more than MaxDrift within it.
	ClassUnsteady = "unsteady"
)

const (
	// MinChange is the least difference between two levels, as a share, that counts as one. Where a window is cut because of it, at
	// least as much would have been mixed into the figures; where it is not, what is mixed in is a part of it.
	MinChange = 0.10

	// MinSteady is the share of the load's duration that must be left after the last change of level. In less, a server that is still on
	// its way looks as if it had arrived: over a short time every curve is flat.
	MinSteady = 2.0 / 3

	// MaxDrift is by what share the last third of a window may differ from its first one, where that is more than noise: as much as a change of
	// level. A change that is spread over the whole window has no point at which it ends, and nothing says that it ends there: a JVM on
	// one CPU that became 3 % faster with each second of a short window was four times as fast a minute later.
	MaxDrift = MinChange

	// driftDeviations is how many standard deviations of noise a drift must have to be one.
	driftDeviations = 3

	// MaxNoisyDrift is by what share they may differ in any noise: where a window's beginning and end differ by that much by chance, its mean
	// is one of chance too.
	MaxNoisyDrift = 0.25
)

// Seconds are the calls that ended in each second, by its beginning.
type Seconds map[time.Time]*hdrhistogram.Histogram

// Add adds what ended in a second, and may keep the histogram. The error is for a histogram of another range.
func (s Seconds) Add(one Interval) error {
	if sum := s[one.Start]; sum != nil {
		return mergeInto(sum, one.Histogram)
	}
	s[one.Start] = one.Histogram
	return nil
}

// Steady reports whether a load, closed and with a WarmupLimit, may end: whether the seconds known so far have a window that is long enough
// and in which the server was steady. The first call is taken to have begun at the end of the first second, as it may have.
func Steady(w experiment.Workload, seconds Seconds) bool {
	if len(seconds) == 0 {
		return false
	}
	known := slices.SortedFunc(maps.Keys(seconds), time.Time.Compare)
	first, last := known[0].Add(time.Second), known[len(known)-1].Add(time.Second)
	found, window := warmUp(w, seconds, first, last)
	return atRest(w, found, window)
}

// atRest reports whether nothing speaks for going on: the window has its whole length, and does not drift, not even as noise does.
func atRest(w experiment.Workload, found *result.Warmup, window *result.Window) bool {
	return found != nil && found.Class != ClassUnsteady && math.Abs(found.Drift) <= MaxDrift && window.Seconds() >= w.Load.Duration.Seconds()
}

// warmUp finds the time in which to count: the first window in which the server was at rest. If there is none it is the last one in which the
// server was not unsteady, or else the last one. It begins between Warmup and WarmupLimit after the first call. Both results are nil if
// no whole second is left.
func warmUp(w experiment.Workload, seconds Seconds, first, last time.Time) (found *result.Warmup, window *result.Window) {
	limit := ceil(first.Add(time.Duration(max(w.Load.Warmup, w.Load.WarmupLimit))))
	for start := ceil(first.Add(time.Duration(w.Load.Warmup))); !start.After(limit); start = start.Add(time.Second) {
		if found != nil && start.Add(time.Duration(w.Load.Duration)).After(last) {
			break // the rest is shorter
		}
		one, its := warmUpTo(w, seconds, first, start, last)
		if one == nil {
			break
		}
		if found == nil || one.Class != ClassUnsteady || found.Class == ClassUnsteady {
			found, window = one, its
		}
		if atRest(w, one, its) {
			break
		}
	}
	return found, window
}

// warmUpTo judges the window that begins at start, or later where the level changes after it. Both results are nil if no whole second is left.
func warmUpTo(w experiment.Workload, seconds Seconds, first, start, last time.Time) (*result.Warmup, *result.Window) {
	end := start.Add(time.Duration(w.Load.Duration).Truncate(time.Second))
	if end.After(last) {
		end = last.Truncate(time.Second)
	}
	// While users are started one after the other the rate says how many there are.
	whole := wholeSeconds(first.Add(time.Duration(w.Load.Ramp)), end)
	if whole == nil || !start.Before(end) {
		return nil, nil
	}
	s := newSeries(seconds, *whole, w.Load.Shape != experiment.ShapeClosed)
	var found result.Warmup
	class, change := classify(s)
	if change > 0 {
		at := whole.Start.Add(time.Duration(change) * time.Second)
		found.ChangeSeconds = at.Sub(first).Seconds()
		start = latest(start, at)
	}
	window := &result.Window{Start: start, End: end}
	drift, drifts := driftOf(s.values[int(start.Sub(whole.Start)/time.Second):])
	if window.Seconds() < MinSteady*w.Load.Duration.Seconds() || drifts {
		class = ClassUnsteady
	}
	found.Class, found.Drift, found.Seconds = class, drift-1, start.Sub(first).Seconds()
	return &found, window
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// unsteadyReason says what an unsteady launch did.
func unsteadyReason(w experiment.Workload, l result.Launch) string {
	field := "warmup"
	if w.Load.MayEndEarly() {
		field = "warmup_limit"
	}
	if left, duration := l.Window.Seconds(), w.Load.Duration.Seconds(); left < MinSteady*duration {
		return fmt.Sprintf("no steady state: the level still changed %.0f s after the first call, which leaves %.0f s of %.0f s, lengthen `%s`",
			l.Warmup.ChangeSeconds, left, duration, field)
	}
	what, than := "rate", "higher"
	if w.Load.Shape != experiment.ShapeClosed {
		what = "median latency"
	}
	if l.Warmup.Drift < 0 {
		than = "lower"
	}
	return fmt.Sprintf("no steady state: the %s in the last third of the window is %.0f %% %s than in the first, lengthen `%s`",
		what, 100*math.Abs(l.Warmup.Drift), than, field)
}

// series has a value for each second.
type series struct {
	values []float64
	// lowerIsBetter is true of latencies.
	lowerIsBetter bool
}

// newSeries makes the series of the rates in the window, or of the median latencies where the rate is a given one.
func newSeries(seconds Seconds, w result.Window, latency bool) series {
	s := series{lowerIsBetter: latency}
	for at := w.Start; at.Before(w.End); at = at.Add(time.Second) {
		h := seconds[at]
		switch {
		case h == nil && latency && len(s.values) > 0:
			s.values = append(s.values, s.values[len(s.values)-1]) // nothing is known of a second without a call
		case h == nil:
			s.values = append(s.values, 0)
		case latency:
			s.values = append(s.values, milliseconds(h.ValueAtPercentile(50)))
		default:
			s.values = append(s.values, float64(h.TotalCount()))
		}
	}
	return s
}

// classify returns the class of a series by its levels, and how many values come before the last level.
func classify(s series) (class string, change int) {
	points := append(changePoints(s.values), len(s.values)) // ends of levels
	last := 0                                               // where the last level begins
	if n := len(points); n > 1 {
		last = points[n-2]
	}
	for i := len(points) - 2; i >= 0; i-- {
		begin := 0
		if i > 0 {
			begin = points[i-1]
		}
		if differ(median(s.values[begin:points[i]]), median(s.values[last:])) {
			break
		}
		last = begin
	}
	if last == 0 {
		return ClassFlat, 0
	}
	level := median(s.values[last:])
	begin := 0
	for _, end := range points {
		if end > last {
			break
		}
		earlier := median(s.values[begin:end])
		if better := earlier > level != s.lowerIsBetter; better && differ(earlier, level) {
			return ClassSlowdown, last
		}
		begin = end
	}
	return ClassWarmup, last
}

// differ reports whether two levels differ by as much as counts.
func differ(a, b float64) bool { return math.Abs(a-b) > MinChange*min(a, b) }

// driftOf returns the mean of the last third of the values over that of the first, and whether the two differ by more than they may. It is 1 if there are no thirds, and 1000 at most.
func driftOf(values []float64) (drift float64, drifts bool) {
	third := len(values) / 3
	if third == 0 {
		return 1, false
	}
	from, to := mean(values[:third]), mean(values[len(values)-third:])
	if from == to {
		return 1, false
	}
	deviation := noise(values) / 0.798 * math.Sqrt(2/float64(third)) // of the difference of two means; see noise
	difference := math.Abs(to - from)
	share := difference / max(min(from, to), difference/1000)
	return to / max(from, to/1000), share > MaxNoisyDrift || share > MaxDrift && difference > driftDeviations*deviation
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// How change points are found. The cost of a level is the sum of the distances of its values from their median, which a second that stands
// out, such as one with a garbage collection, does not move.
const (
	// minLevel is the least number of values in a level: one that stands out must not be one.
	minLevel = 3
	// changePenalty is what a change must save, in units of the noise times log n: that is the form of the Bayesian information criterion.
	// The factor is such that noise is taken for a change in fewer than one of twenty flat series, of 10 values too: see TestFlatIsFlat.
	changePenalty = 3.0
	// minNoise is the least noise that is assumed, as a share of the level.
	minNoise = 0.01
)

// changePoints returns where the level of a series changes: the indexes at which a new one begins. They are those with the least sum of
// the levels' costs and a penalty for each change, found by optimal partitioning (Jackson et al., "An Algorithm for Optimal Partitioning
// of Data on an Interval", IEEE Signal Processing Letters 12(2), 2005); the penalty is that of Killick, Fearnhead and Eckley, "Optimal
// Detection of Changepoints With a Linear Computational Cost" (JASA 107, 2012). What values that stand out do to other costs is shown in
// Fearnhead and Rigaill, "Changepoint Detection in the Presence of Outliers" (JASA 114, 2019).
func changePoints(values []float64) []int {
	n := len(values)
	penalty := changePenalty * noise(values) * math.Log(float64(n))
	best := make([]float64, n+1) // the least cost of the first i values
	from := make([]int, n+1)     // where the last level of that begins
	for i := range best {
		best[i] = math.Inf(1)
	}
	best[0] = -penalty
	for begin := 0; begin+minLevel <= n; begin++ {
		if math.IsInf(best[begin], 1) {
			continue
		}
		level := make([]float64, 0, n-begin)
		for end := begin + 1; end <= n; end++ {
			v := values[end-1]
			at, _ := slices.BinarySearch(level, v)
			level = slices.Insert(level, at, v)
			if len(level) < minLevel {
				continue
			}
			if cost := best[begin] + penalty + distance(level); cmp.Less(cost, best[end]) {
				best[end], from[end] = cost, begin
			}
		}
	}
	var points []int
	for at := from[n]; at > 0; at = from[at] {
		points = append(points, at)
	}
	slices.Reverse(points)
	return points
}

// distance is the sum of the distances of sorted values from their median.
func distance(sorted []float64) float64 {
	var sum float64
	for i, j := 0, len(sorted)-1; i < j; i, j = i+1, j-1 {
		sum += sorted[j] - sorted[i]
	}
	return sum
}

// noise estimates the mean distance of values from their level by the differences between neighbours, which changes of level hardly
// touch. The factor is right for normal noise: the median of |a-b| is 0.954 of its standard deviation, the mean distance 0.798.
func noise(values []float64) float64 {
	differences := make([]float64, 0, len(values))
	for i := 1; i < len(values); i++ {
		differences = append(differences, math.Abs(values[i]-values[i-1]))
	}
	return max(0.798/0.954*median(differences), minNoise*median(values))
}
