package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
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
		{"a sure difference, whatever the floor of single launches is", logs(1.1, 1.1, 1.1), &floor, 1.1, 1.1, 1.1, false, 3},
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
		name     string
		launches int       // under each workload, of which one enters no figure if there are two
		noise    []float64 // of each workload, in the logarithm
	}{
		{"one launch and one again", 2, []float64{0.05, 0.05, 0.05, 0.05}},
		{"one launch and one again, unequal noise", 2, []float64{0.02, 0.03, 0.05, 0.1}},
		{"a quiet machine", 2, []float64{0.01, 0.01, 0.01, 0.01}},
		{"one workload, one launch and one again", 2, []float64{0.05}},
		{"three launches", 3, []float64{0.05, 0.1}},
		{"three launches, one workload", 3, []float64{0.05}},
		{"six launches", 6, []float64{0.05, 0.05, 0.1, 0.1}},
	} {
		// run returns the figures of a run, and its noise floor.
		run := func() (figures []float64, floor float64) {
			var s spread
			for _, noise := range test.noise {
				var launches equals
				var values []float64
				for range test.launches {
					values = append(values, math.Exp(noise*random.NormFloat64()))
					launches = append(launches, &result.Launch{ReadySeconds: values[len(values)-1]})
				}
				s.add(launches, always(func(l result.Launch) float64 { return l.ReadySeconds }))
				if test.launches == 2 {
					values = values[:1]
				}
				figures = append(figures, overLaunches(values).Value)
			}
			return figures, s.floor(s.freedom)
		}
		within, figures := 0, 0
		for range 2000 {
			one, floor := run()
			other, _ := run()
			for i := range one {
				figures++
				if math.Abs(math.Log(one[i]/other[i])) < math.Log1p(floor) {
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

// The floor follows from what equal launches differ by, whatever their level is.
func TestFloor(t *testing.T) {
	launch := func(number int, subject, workload string, rate float64, invalid ...string) result.Launch {
		return result.Launch{Number: number, Subject: subject, Workload: workload, ReadySeconds: rate, Invalid: invalid}
	}
	w := experiment.Workload{Name: "a", Subjects: []string{"go", "java"}}
	other := experiment.Workload{Name: "b", Subjects: w.Subjects}
	run := &result.Run{Experiment: experiment.Experiment{Workloads: []experiment.Workload{w, other}}, Launches: []result.Launch{
		launch(1, "go", "a", 100), launch(2, "java", "a", 7), launch(3, "go", "b", 50, "bad"), launch(4, "java", "b", 8),
		launch(5, "go", "a", 110), launch(6, "java", "a", 7*1.1*1.1), launch(7, "go", "b", 400), launch(8, "go", "b", 400),
		launch(9, "java", "a", 7*1.1), launch(10, "java", "b", 0),
	}}
	var s spread
	var groups [][]int
	for _, launches := range equalsOf(run) {
		var group []int
		for _, l := range launches {
			group = append(group, l.Number)
		}
		groups = append(groups, group)
		s.add(launches, always(func(l result.Launch) float64 { return l.ReadySeconds }))
	}
	if want := [][]int{{1, 5}, {2, 6, 9}, {7, 8}, {4, 10}}; !slices.EqualFunc(groups, want, slices.Equal) {
		t.Errorf("equal launches are %v, wanted %v", groups, want)
	}
	step := math.Log(1.1)
	if want := 0.5 + 2; s.freedom != 1+2+1 || math.Abs(s.squares/(step*step)-want) > 1e-9 {
		t.Errorf("%d degrees of freedom, squares of %v steps, wanted 4 and %v", s.freedom, s.squares/(step*step), want)
	}
	// Student's quantile with four degrees of freedom is 4.6041.
	if got, want := s.floor(4), math.Exp(4.6041*math.Sqrt(2*2.5/4)*step)-1; math.Abs(got/want-1) > 1e-4 {
		t.Errorf("the floor is %v, wanted %v", got, want)
	}
	if got := (spread{squares: 1e-9, freedom: 4}).floor(4); got != MinFloor {
		t.Errorf("the floor of almost no noise is %v, wanted %v", got, MinFloor)
	}
}

func TestPairs(t *testing.T) {
	launch := func(number, block int, workload, subject string, again bool, invalid ...string) result.Launch {
		return result.Launch{Number: number, Block: block, Workload: workload, Subject: subject, Again: again, Invalid: invalid}
	}
	run := &result.Run{Launches: []result.Launch{
		launch(1, 1, "a", "java", false), launch(2, 1, "a", "go", false),
		launch(3, 2, "a", "go", false, "bad"), launch(4, 2, "a", "java", false),
		launch(5, 3, "a", "java", false), launch(6, 3, "a", "go", false),
		launch(7, 4, "b", "java", false), launch(8, 4, "b", "go", false),
		launch(9, 5, "a", "go", true), launch(10, 6, "b", "go", true),
	}}
	var got [][2]int
	for _, p := range pairs(run, "a", "java", "go") {
		got = append(got, [2]int{p.one.Number, p.other.Number})
	}
	if want := [][2]int{{1, 2}, {5, 6}}; !slices.Equal(got, want) {
		t.Errorf("java with go under a: got %v, wanted %v", got, want)
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
