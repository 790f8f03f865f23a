package stats

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

// noisy makes a series of that shape with noise of that share of it, other noise for each seed.
func noisy(seed uint64, n int, noise float64, level func(i int) float64) []float64 {
	random := rand.New(rand.NewPCG(seed, 4))
	values := make([]float64, n)
	for i := range values {
		values[i] = 1000 * level(i) * (1 + noise*random.NormFloat64())
	}
	return values
}

func flat(int) float64 { return 1 }

// step is a level that is from times the last one up to a second.
func step(until int, from float64) func(int) float64 {
	return func(i int) float64 {
		if i < until {
			return from
		}
		return 1
	}
}

// TestFlatIsFlat: of series that only noise moves, with a standard deviation of 10 %, at most one of twenty is taken for another. That holds from 9
// values on; of 6 it is a little more.
func TestFlatIsFlat(t *testing.T) {
	const seeds = 400
	for _, n := range []int{9, 10, 13, 20, 30, 60} {
		other := 0
		for seed := range uint64(seeds) {
			values := noisy(seed, n, 0.1, flat)
			class, _ := classify(series{values: values})
			if _, drifts := driftOf(values); class != ClassFlat || drifts {
				other++
			}
		}
		t.Logf("%d of %d flat series of %d values are taken for another", other, seeds, n)
		if other > seeds/20 {
			t.Errorf("%d of %d flat series of %d values are taken for another, wanted at most one of twenty", other, seeds, n)
		}
	}
}

// TestClassify: at least nine of ten series of each shape have the wanted class, and their last change is where it was put.
func TestClassify(t *testing.T) {
	dips := func(i int) float64 { // a garbage collection every five seconds
		if i%5 == 3 {
			return 0.5
		}
		return 1
	}
	for _, test := range []struct {
		name          string
		n             int
		noise         float64
		level         func(i int) float64
		lowerIsBetter bool
		want          string
		// from and to bound where the last level begins.
		from, to int
	}{
		{"twice as fast", 13, 0.1, step(3, 0.5), false, ClassWarmup, 3, 3},
		{"a quarter faster", 20, 0.03, step(6, 0.8), false, ClassWarmup, 5, 7},
		{"less than counts", 20, 0.02, step(6, 0.95), false, ClassFlat, 0, 0},
		{"slower", 30, 0.05, step(10, 1.3), false, ClassSlowdown, 9, 11},
		{"lower latency", 30, 0.05, step(10, 1.3), true, ClassWarmup, 9, 11},
		{"higher latency", 30, 0.05, step(10, 0.7), true, ClassSlowdown, 9, 11},
		{"twice as fast, then slower", 40, 0.03, func(i int) float64 {
			switch {
			case i < 10:
				return 0.5
			case i < 25:
				return 1.3
			}
			return 1
		}, false, ClassSlowdown, 24, 26},
		{"up and down again to the same", 40, 0.03, func(i int) float64 {
			if i >= 15 && i < 20 {
				return 0.6
			}
			return 1
		}, false, ClassWarmup, 19, 21},
		{"a first second that is slow", 13, 0.03, step(1, 0.3), false, ClassFlat, 0, 0},
		{"periodic garbage collection", 40, 0.03, dips, false, ClassFlat, 0, 0},
		{"a ramp", 30, 0.03, func(i int) float64 { return 1 + float64(i)/30 }, false, ClassWarmup, 15, 27},
		{"slower and slower improvement", 120, 0.03, func(i int) float64 { return 1 - 0.7*math.Exp(-float64(i)/20) }, false, ClassWarmup, 25, 55},
		{"all the same", 20, 0, flat, false, ClassFlat, 0, 0},
		{"nothing", 20, 0, func(int) float64 { return 0 }, false, ClassFlat, 0, 0},
		{"dead after a while", 20, 0.03, func(i int) float64 { return 1 - step(10, 0)(i) }, false, ClassSlowdown, 10, 10},
		{"two values", 2, 0, step(1, 0.1), false, ClassFlat, 0, 0},
	} {
		const seeds = 50
		good := 0
		for seed := range uint64(seeds) {
			class, change := classify(series{noisy(seed, test.n, test.noise, test.level), test.lowerIsBetter})
			if class == test.want && change >= test.from && change <= test.to {
				good++
			}
		}
		if good < seeds*9/10 {
			t.Errorf("%s: %d of %d are %s with the last level from %d to %d, wanted nine of ten", test.name, good, seeds, test.want, test.from, test.to)
		}
	}
}

// measured makes histograms of a series' values: as many calls in each second, of a millisecond each.
func measured(start time.Time, values []float64) Seconds {
	seconds := Seconds{}
	for i, v := range values {
		h := newHistogram()
		_ = h.RecordValues(1000, int64(v)) // in range
		seconds[start.Add(time.Duration(i)*time.Second)] = h
	}
	return seconds
}

func TestWarmUp(t *testing.T) {
	zero := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	first := zero.Add(300 * time.Millisecond)
	for _, test := range []struct {
		name                   string
		warmup, duration, ramp int
		level                  func(i int) float64
		last                   float64 // when the last call ended
		class                  string
		start, end             float64 // of the window; 0 for none
		driftFrom, driftTo     float64
	}{
		{"flat", 4, 9, 0, flat, 14.3, ClassFlat, 5, 14, -0.05, 0.05},
		{"warm before the window", 4, 9, 0, step(4, 0.5), 14.3, ClassWarmup, 5, 14, -0.05, 0.05},
		{"warm in the window", 4, 12, 0, step(8, 0.5), 17.3, ClassWarmup, 8, 17, -0.05, 0.05},
		{"too late", 4, 9, 0, step(11, 0.5), 14.3, ClassUnsteady, 11, 14, -0.05, 0.05},
		{"drift", 4, 18, 0, func(i int) float64 { return 1 + 0.0102*float64(i) }, 23.3, ClassUnsteady, 5, 23, 0.1, 0.2},
		{"less drift", 4, 18, 0, func(i int) float64 { return 1 + 0.006*float64(i) }, 23.3, ClassFlat, 5, 23, 0.03, 0.1},
		{"no more than noise", 4, 18, 0, func(i int) float64 { return (1 + 0.012*float64(i)) * (1 + 0.8*float64(i%2)) }, 23.3, ClassFlat, 5, 23, 0.1, 0.2},
		{"too much noise", 4, 18, 0, func(i int) float64 { return (1 + 0.04*float64(i)) * (1 + 0.8*float64(i%2)) }, 23.3, ClassUnsteady, 5, 23, 0.3, 0.6},
		{"users that start", 10, 20, 8, func(i int) float64 { return min(1, float64(i+1)/8) }, 31.3, ClassFlat, 11, 31, -0.05, 0.05},
		{"no call for a long time", 4, 9, 0, step(9, 0), 14.3, ClassUnsteady, 9, 14, -0.05, 0.05},
		{"k6 ended early", 4, 9, 0, flat, 12.7, ClassFlat, 5, 12, -0.05, 0.05},
		{"k6 ended much too early", 4, 9, 0, flat, 9.7, ClassUnsteady, 5, 9, -0.05, 0.05},
		{"k6 ended before the window", 4, 9, 0, flat, 4.9, "", 0, 0, 0, 0},
	} {
		w := experiment.Workload{Load: experiment.Load{
			Shape: experiment.ShapeClosed, Warmup: seconds(test.warmup), Duration: seconds(test.duration), Ramp: seconds(test.ramp),
		}}
		values := noisy(1, int(test.last)+1, 0.01, test.level)
		found, window := warmUp(w, measured(zero, values), first, zero.Add(time.Duration(test.last*float64(time.Second))))
		if test.end == 0 {
			if window != nil {
				t.Errorf("%s: got %v, wanted no window", test.name, window)
			}
			continue
		}
		if window == nil {
			t.Errorf("%s: got no window", test.name)
			continue
		}
		start, end := window.Start.Sub(zero).Seconds(), window.End.Sub(zero).Seconds()
		if found.Class != test.class || start != test.start || end != test.end {
			t.Errorf("%s: got %s from %v to %v, wanted %s from %v to %v", test.name, found.Class, start, end, test.class, test.start, test.end)
		}
		if found.Drift < test.driftFrom || found.Drift > test.driftTo {
			t.Errorf("%s: the drift is %v, wanted %v to %v", test.name, found.Drift, test.driftFrom, test.driftTo)
		}
		if want := start - 0.3; math.Abs(found.Seconds-want) > 1e-9 {
			t.Errorf("%s: the warm-up took %v s, wanted %v", test.name, found.Seconds, want)
		}
	}
	// No call at all.
	if found, window := warmUp(experiment.Workload{}, nil, time.Time{}, time.Time{}); found != nil || window != nil {
		t.Errorf("without a call: got %v, %v", found, window)
	}
}

// TestSteady: a load may end with the window's last second, and not before.
func TestSteady(t *testing.T) {
	zero := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	w := experiment.Workload{Load: experiment.Load{Shape: experiment.ShapeClosed, Warmup: seconds(3), WarmupLimit: seconds(20), Duration: seconds(6)}}
	for _, test := range []struct {
		name  string
		level func(int) float64
		after int // seconds; 0 for never
	}{
		{"flat", func(int) float64 { return 1 }, 10}, // the second in which it began, three of warm-up, six that count
		{"faster after 8 s", func(i int) float64 { return 1 + float64(i/8) }, 14},
		{"faster all the time", func(i int) float64 { return 1 + float64(i)/10 }, 0},
		{"warm after 5 s", func(i int) float64 { return 1 + float64(min(i/5, 1)) }, 11},
	} {
		after := 0
		values := noisy(1, 16, 0.01, test.level)
		for n := range len(values) {
			if Steady(w, measured(zero, values[:n])) {
				after = n
				break
			}
		}
		if after != test.after {
			t.Errorf("%s: steady after %d s, wanted %d", test.name, after, test.after)
		}
	}
}

func seconds(n int) yamlfile.Duration { return yamlfile.Duration(time.Duration(n) * time.Second) }

// TestSlowStarter is a JVM on one CPU, which becomes faster for a minute: a window that begins too early must not pass for a steady one
// without showing it.
func TestSlowStarter(t *testing.T) {
	zero := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	w := experiment.Workload{Load: experiment.Load{Shape: experiment.ShapeClosed, Warmup: seconds(4), Duration: seconds(9)}}
	for _, tau := range []float64{5, 10, 20, 30} {
		unsteady, least := 0, math.Inf(1)
		const seeds = 50
		for seed := range uint64(seeds) {
			values := noisy(seed, 15, 0.03, func(i int) float64 { return 1 - 0.7*math.Exp(-float64(i)/tau) })
			found, _ := warmUp(w, measured(zero, values), zero.Add(time.Millisecond), zero.Add(14*time.Second))
			if found.Class == ClassUnsteady {
				unsteady++
			} else {
				least = min(least, found.Drift)
			}
		}
		t.Logf("time constant %v s: %d of %d unsteady, least drift of the others %.2f", tau, unsteady, seeds, least)
		if tau >= 10 && (unsteady < seeds*3/4 || least < 0.05) {
			t.Errorf("time constant %v s: %d of %d are unsteady, wanted three quarters, and of the others one shows a drift of %.2f only", tau, unsteady, seeds, least)
		}
	}
}
