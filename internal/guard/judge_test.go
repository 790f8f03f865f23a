package guard

import (
	"math"
	"slices"
	"testing"
)

// metric has n ratios around center, evenly spread to both sides by width, and noise around 1 likewise.
func metric(percentile, center, width, noise float64) Metric {
	const n = 10
	m := Metric{Workload: "a", Percentile: percentile, Samples: MinSamplesP99}
	for i := range n {
		at := float64(i)/(n-1)*2 - 1 // from -1 to 1
		m.Ratios = append(m.Ratios, center*math.Exp(at*width))
		m.Noise = append(m.Noise, math.Exp(at*noise))
	}
	return m
}

func TestJudgeRule(t *testing.T) {
	for _, test := range []struct {
		name                  string
		center, width, noise  float64
		want                  Verdict
		wantUnfit, percentile float64
	}{
		{name: "equal", center: 1, width: 0.02, noise: 0.02, want: Pass},
		{name: "slower, by less than the limit", center: 1.05, width: 0.02, noise: 0.02, want: Pass},
		{name: "faster", center: 0.5, width: 0.02, noise: 0.02, want: Pass},
		{name: "slower", center: 1.25, width: 0.02, noise: 0.02, want: Fail},
		{name: "just above the limit, precisely", center: 1.11, width: 0.001, noise: 0.02, want: Fail},
		{name: "above the limit, but it may be no change", center: 1.12, width: 0.40, noise: 0.02, want: Inconclusive},
		{name: "below the limit, but it may be above", center: 1.05, width: 0.20, noise: 0.02, want: Inconclusive},
		{name: "much slower on a noisy machine", center: 2, width: 0.02, noise: 0.2, want: Inconclusive, wantUnfit: 1},
		{name: "equal on a noisy machine", center: 1, width: 0.02, noise: 0.2, want: Inconclusive, wantUnfit: 1},
		{name: "p99 may be noisier", percentile: 99, center: 1.5, width: 0.02, noise: 0.12, want: Fail},
		{name: "p99 may not be very noisy", percentile: 99, center: 1.5, width: 0.02, noise: 0.3, want: Inconclusive, wantUnfit: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.percentile == 0 {
				test.percentile = 95
			}
			metrics := []Metric{metric(test.percentile, test.center, test.width, test.noise)}
			got, gated, unfit := judge(metrics)
			e := metrics[0].Estimate
			if got != test.want || metrics[0].Verdict != test.want || gated != 1 || float64(len(unfit)) != test.wantUnfit {
				t.Errorf("got %s, %d gated, unfit %v from %+v; wanted %s", got, gated, unfit, *e, test.want)
			}
			if !(e.Lower <= e.Median && e.Median <= e.Upper) || math.Abs(e.Median-test.center) > 1e-9*test.center {
				t.Errorf("got median %v in %v to %v, wanted %v between", e.Median, e.Lower, e.Upper, test.center)
			}
		})
	}
}

func TestJudgeAll(t *testing.T) {
	equal, slower := metric(50, 1, 0.02, 0.02), metric(50, 1.25, 0.02, 0.02)
	unclear, noisy := metric(50, 1.05, 0.20, 0.02), metric(95, 1, 0.02, 0.3)
	shown := metric(99, 2, 0.02, 0.3)
	shown.Samples = MinSamplesP99 - 1
	few := metric(50, 1.25, 0.02, 0.02)
	few.Ratios = few.Ratios[:MinPairs-1]
	fewNoise := metric(50, 1, 0.02, 0.02)
	fewNoise.Noise = fewNoise.Noise[:MinPairs-1]
	for _, test := range []struct {
		name    string
		metrics []Metric
		want    Verdict
		gated   int
	}{
		{"none", nil, Inconclusive, 0},
		{"all pass", []Metric{equal, equal}, Pass, 2},
		{"one fails", []Metric{equal, slower}, Fail, 2},
		{"one is unclear", []Metric{unclear, equal}, Inconclusive, 2},
		{"one fails and one is unclear", []Metric{unclear, slower, unclear}, Fail, 3},
		{"the machine is unfit, so nothing fails", []Metric{slower, noisy}, Inconclusive, 2},
		{"what is shown only does not decide", []Metric{equal, shown}, Pass, 1},
		{"too few pairs", []Metric{equal, few}, Inconclusive, 2},
		{"too few pairs for the noise floor", []Metric{equal, fewNoise}, Inconclusive, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			metrics := slices.Clone(test.metrics)
			if got, gated, unfit := judge(metrics); got != test.want || gated != test.gated {
				t.Errorf("got %s by %d metrics, unfit %v; wanted %s by %d", got, gated, unfit, test.want, test.gated)
			}
		})
	}
}

// TestHolm: two pairs of ten speak against a slowdown. By itself that is enough for a regression; as one of 15 equal metrics it is not; and
// beside a metric that is beyond doubt it is held against the next, milder level.
func TestHolm(t *testing.T) {
	doubtful := func() Metric {
		m := metric(50, 1, 0.01, 0.01)
		for i := range m.Ratios {
			m.Ratios[i] = 1.2 + 0.001*float64(i)
		}
		m.Ratios[2], m.Ratios[7] = 0.98, 0.97
		return m
	}
	alone := []Metric{doubtful()}
	if got, _, _ := judge(alone); got != Fail {
		t.Fatalf("alone: got %s from %+v, wanted FAIL", got, *alone[0].Estimate)
	}
	// By hand: at least 6 of 10 draws hit the two, or 5 with a median half-way, which is above 1. P(Bin(10, 0.2) ≥ 6) = 0.0064.
	if p := alone[0].Estimate.p; math.Abs(p-0.0064) > 0.003 {
		t.Errorf("p is %v, wanted about 0.0064", p)
	}
	var many []Metric
	for range 15 {
		many = append(many, doubtful())
	}
	if got, gated, _ := judge(many); got != Inconclusive || gated != 15 {
		t.Errorf("15 times: got %s of %d, wanted INCONCLUSIVE of 15", got, gated)
	}
	if level := many[0].Estimate.LowerLevel; math.Abs(level-0.025/15) > 1e-12 {
		t.Errorf("the strictest level is %v, wanted 0.025/15", level)
	}
	pair := []Metric{doubtful(), metric(50, 1.5, 0.01, 0.01)}
	if got, _, _ := judge(pair); got != Fail || pair[0].Verdict != Fail || pair[0].Estimate.LowerLevel != tail || pair[1].Estimate.LowerLevel != tail/2 {
		t.Errorf("beside a certain one: got %s, %+v, %+v; wanted both FAIL at levels 0.025 and 0.0125", got, *pair[0].Estimate, *pair[1].Estimate)
	}
}

func TestBootstrap(t *testing.T) {
	data := []float64{0.1, -0.2, 0.3, 0.05, 0, 0.15, 0.2, -0.1, 0.12, 0.07}
	one, again := bootstrap(data), bootstrap(slices.Clone(data))
	if !slices.Equal(one.Xs, again.Xs) {
		t.Error("the same data gave two sets of resamples")
	}
	if !slices.IsSorted(one.Xs) || len(one.Xs) != resamples || one.Xs[0] < -0.2 || one.Xs[len(one.Xs)-1] > 0.3 {
		t.Errorf("got %d medians from %v to %v, wanted %d sorted ones inside the data", len(one.Xs), one.Xs[0], one.Xs[len(one.Xs)-1], resamples)
	}
	other := slices.Clone(data)
	other[0] = 0.10001
	if slices.Equal(one.Xs, bootstrap(other).Xs) {
		t.Error("other data gave the same resamples")
	}
	if got := shareAtMost(one, one.Xs[resamples/2]); got < 0.5 || got > 0.75 {
		t.Errorf("%v of the medians are at most the middle one", got)
	}
}
