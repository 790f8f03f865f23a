package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/result"
)

func logs(ratios ...float64) []float64 {
	var logs []float64
	for _, r := range ratios {
		logs = append(logs, math.Log(r))
	}
	return logs
}

func TestRatio(t *testing.T) {
	floor := 0.2
	for _, test := range []struct {
		name       string
		logs       []float64
		floor      *float64
		value      float64
		low, high  float64 // 0 for none
		same       bool
		wantsPairs int
	}{
		// The interval of six values reaches from the first to the last.
		{"six pairs", logs(0.5, 0.52, 0.54, 0.55, 0.56, 0.7), nil, math.Sqrt(0.54 * 0.55), 0.5, 0.7, false, 6},
		{"an order that does not matter", logs(0.7, 0.52, 0.55, 0.54, 0.56, 0.5), nil, math.Sqrt(0.54 * 0.55), 0.5, 0.7, false, 6},
		{"six pairs around 1", logs(0.9, 0.95, 1.2, 1.3, 1.3, 1.4), nil, math.Sqrt(1.2 * 1.3), 0.9, 1.4, true, 6},
		// Student's quantile with one degree of freedom is 12.71, and the standard error of the mean is half the distance.
		{"two pairs", logs(2, 2.2), nil, math.Sqrt(2 * 2.2), math.Sqrt(2*2.2) * math.Exp(-12.7062*math.Log(1.1)/2), math.Sqrt(2*2.2) * math.Exp(12.7062*math.Log(1.1)/2), false, 2},
		{"three pairs that are alike", logs(0.5, 0.5, 0.5), nil, 0.5, 0.5, 0.5, false, 3},
		{"one pair, no floor", logs(0.3), nil, 0.3, 0, 0, true, 1},
		{"one pair beyond the floor", logs(0.3), &floor, 0.3, 0, 0, false, 1},
		{"one pair within the floor", logs(1.19), &floor, 1.19, 0, 0, true, 1},
		{"one pair within the floor below 1", logs(1 / 1.19), &floor, 1 / 1.19, 0, 0, true, 1},
		{"a sure difference within the floor", logs(1.1, 1.1, 1.1), &floor, 1.1, 1.1, 1.1, true, 3},
		{"a sure difference within the least floor", logs(1.04, 1.04, 1.04), nil, 1.04, 1.04, 1.04, true, 3},
		{"a sure difference beyond the least floor", logs(1.06, 1.06, 1.06), nil, 1.06, 1.06, 1.06, false, 3},
	} {
		r := ratioOf(test.logs, test.floor)
		near := func(got *float64, want float64) bool {
			return (got == nil) == (want == 0) && (got == nil || math.Abs(*got/want-1) < 1e-4)
		}
		if !near(&r.Value, test.value) || !near(r.Low, test.low) || !near(r.High, test.high) || r.Same != test.same || r.Pairs != test.wantsPairs {
			t.Errorf("%s: got %+v (%v to %v), wanted %+v", test.name, r, r.Low, r.High, test)
		}
	}
	if r := ratioOf(nil, nil); r != nil {
		t.Errorf("without pairs: got %v", r)
	}
}

// TestFloorHolds simulates runs of one server against itself: at least 19 of 20 figures of one run differ from those of the next by less than
// the noise floor that one of them has found, also where workloads are not equally noisy.
func TestFloorHolds(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for _, test := range []struct {
		name            string
		launches, pairs int
		noise           []float64 // of each workload, in the logarithm
	}{
		{"one launch, three A/A pairs", 1, 3, []float64{0.05, 0.05, 0.05, 0.05, 0.05}},
		{"one launch, three A/A pairs, unequal noise", 1, 3, []float64{0.02, 0.03, 0.05, 0.06, 0.1}},
		{"a quiet machine", 1, 3, []float64{0.01, 0.01, 0.01, 0.01, 0.01}},
		{"three launches, three A/A pairs", 3, 3, []float64{0.05, 0.1}},
		{"three launches, one A/A pair", 3, 1, []float64{0.05}},
		{"six launches", 6, 12, []float64{0.05, 0.05, 0.1, 0.1}},
	} {
		within, figures := 0, 0
		for range 2000 {
			var again []float64
			for range test.pairs {
				noise := test.noise[random.IntN(len(test.noise))]
				again = append(again, noise*random.NormFloat64()-noise*random.NormFloat64())
			}
			floor := floorOf(again, test.pairs)
			for _, noise := range test.noise {
				run := func() float64 {
					var values []float64
					for range test.launches {
						values = append(values, math.Exp(noise*random.NormFloat64()))
					}
					return overLaunches(values).Value
				}
				figures++
				if math.Abs(math.Log(run()/run())) < math.Log1p(floor) {
					within++
				}
			}
		}
		share := float64(within) / float64(figures)
		t.Logf("%s: %.1f %% of figures are within the floor", test.name, 100*share)
		if share < 0.95 {
			t.Errorf("%s: %.1f %% of figures are within the floor, wanted 95 %%", test.name, 100*share)
		}
	}
}

func TestPairs(t *testing.T) {
	launch := func(number, block int, workload, subject string, again bool, invalid ...string) result.Launch {
		return result.Launch{Number: number, Block: block, Workload: workload, Subject: subject, Again: again, Invalid: invalid}
	}
	run := &result.Run{Launches: []result.Launch{
		launch(1, 1, "a", "go", true), launch(2, 1, "a", "java", false), launch(3, 1, "a", "go", false),
		launch(4, 2, "a", "go", false, "bad"), launch(5, 2, "a", "java", false),
		launch(6, 3, "a", "java", false), launch(7, 3, "a", "go", false), launch(8, 3, "a", "go", true, "bad"),
		launch(9, 4, "b", "java", false), launch(10, 4, "b", "go", false), launch(11, 4, "b", "go", true),
	}}
	numbers := func(pairs []pair) [][2]int {
		var n [][2]int
		for _, p := range pairs {
			n = append(n, [2]int{p.one.Number, p.other.Number})
		}
		return n
	}
	if got, want := numbers(pairs(run, "a", "java", "go")), [][2]int{{2, 3}, {6, 7}}; !slices.Equal(got, want) {
		t.Errorf("java with go under a: got %v, wanted %v", got, want)
	}
	if got, want := numbers(againPairs(run)), [][2]int{{1, 3}, {11, 10}}; !slices.Equal(got, want) {
		t.Errorf("A/A: got %v, wanted %v", got, want)
	}
}

func TestOutcome(t *testing.T) {
	interval := func(low, value, high float64) result.Ratio {
		return result.Ratio{Value: value, Low: &low, High: &high, Same: low <= 1 && high >= 1}
	}
	floor := 0.3
	for _, test := range []struct {
		name     string
		claimed  float64
		measured result.Ratio
		floor    *float64
		want     string
	}{
		{"the same", 12.8, interval(11, 12, 13), nil, result.Holds},
		{"within the factor", 12.8, interval(9, 10, 10.3), nil, result.Holds},
		{"not within the factor", 12.8, interval(9, 10, 10.2), nil, result.SmallerThanPublished},
		{"larger", 5.6, interval(7.1, 8, 9), nil, result.LargerThanPublished},
		{"reversed", 2.9, interval(0.5, 0.6, 0.7), nil, result.Reversed},
		{"reversed, of a ratio below 1", 0.08, interval(1.5, 1.6, 1.7), nil, result.Reversed},
		{"smaller, of a ratio below 1", 0.08, interval(0.2, 0.3, 0.4), nil, result.SmallerThanPublished},
		{"larger, of a ratio below 1", 0.5, interval(0.2, 0.3, 0.39), nil, result.LargerThanPublished},
		{"no difference", 2.9, interval(0.9, 1.1, 1.2), nil, result.NoDifference},
		{"no difference although the interval reaches the claim", 2.9, interval(0.9, 1.6, 3), nil, result.NoDifference},
		{"no difference claimed, none found", 1.02, interval(0.9, 1.1, 1.2), nil, result.Holds},
		{"no difference claimed, one found", 1.02, interval(0.4, 0.5, 0.6), nil, result.LargerThanPublished},
		{"one pair, within factor and least floor", 2, result.Ratio{Value: 1.53}, nil, result.Holds},
		{"one pair, not within them", 2, result.Ratio{Value: 1.52}, nil, result.SmallerThanPublished},
		{"one pair, within factor and floor", 2, result.Ratio{Value: 1.24}, &floor, result.Holds},
	} {
		if got := outcome(test.claimed, test.measured, test.floor); got != test.want {
			t.Errorf("%s: got %s, wanted %s", test.name, got, test.want)
		}
	}
}
