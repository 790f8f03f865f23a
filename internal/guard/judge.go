package guard

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// The rule. Why it is this one is in docs/guard.md.
const (
	// Limit is the ratio of head to base that is a regression. Smaller ones are within reach of code layout and of the machine's
	// moods; no rule separates +10 % from +9 %.
	Limit = 1.10
	// Unchanged is the ratio of equal versions: below it the lower bound must not reach where a regression is claimed. Asking
	// for a lower bound above Limit instead would miss half of the slowdowns of 25 % on a noisy machine.
	Unchanged = 1.00
	// Confidence is the level of the intervals, half of the rest on either side. Holm's correction makes the lower side stricter.
	Confidence = 0.95
	// resamples is enough for 17 of them to lie beyond the strictest bound of 15 metrics, which is 0.025/15.
	resamples = 10_000
	// MinPairs is the least number of valid pairs with which a metric is judged: the whole range of n ratios covers their median
	// with a probability of 1-2^(1-n), and 6 is the first n for which that is above Confidence.
	MinPairs = 6
	// MinSamplesP99 is the number of calls in every launch from which p99 is judged: 100 of them are beyond it. With fewer it is
	// shown only.
	MinSamplesP99 = 10_000
)

// quantiles are the percentiles that are judged, each with the noise floor from which on the machine is unfit to judge anything by it:
// half of Limit leaves no room between a regression and noise. The far tail is noisier everywhere, so it is granted more.
var quantiles = []struct{ percentile, maxNoise float64 }{{50, 0.05}, {95, 0.05}, {99, 0.10}}

// Verdict is what a guard concludes, of one metric or of all.
type Verdict string

// The verdicts.
const (
	Pass         Verdict = "PASS"
	Fail         Verdict = "FAIL"
	Inconclusive Verdict = "INCONCLUSIVE"
)

// Metric is one percentile of the latency under one workload.
type Metric struct {
	Workload   string  `json:"workload"`
	Percentile float64 `json:"percentile"`
	// BaseMS and HeadMS are milliseconds: the median, over the valid launches, of the launch's percentile.
	BaseMS float64 `json:"base_ms"`
	HeadMS float64 `json:"head_ms"`
	// Ratios are head to base in each pair with two valid launches, in the order of the pairs; Noise are base to base.
	Ratios []float64 `json:"ratios"`
	Noise  []float64 `json:"noise_ratios"`
	// Samples is the number of calls in the valid launch that has fewest.
	Samples int64 `json:"samples"`

	// Gated metrics decide. The others are shown; Why says why.
	Gated bool `json:"gated"`
	// Estimate is computed from Ratios; absent when there are fewer than MinPairs of Ratios or of Noise.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Verdict is empty for a metric that is not gated.
	Verdict Verdict `json:"verdict,omitempty"`
	Why     string  `json:"why,omitempty"`
}

// Estimate is what the pairs say about the ratio of head to base.
type Estimate struct {
	Median float64 `json:"median"`
	// Lower is the lower bound after Holm's correction, for which LowerLevel of the resamples were below; Upper is that of the
	// uncorrected interval.
	Lower      float64 `json:"lower"`
	LowerLevel float64 `json:"lower_level"`
	Upper      float64 `json:"upper"`
	// NoiseFloor is half the width of the interval of base to base: 0.03 means that ±3 % is what this machine gives for no change.
	NoiseFloor float64 `json:"noise_floor"`

	medians stats.Sample // of resamples, as logarithms
	p       float64      // share of the medians at or below Unchanged
}

// judge fills in what follows from the ratios and samples of the metrics. It returns the verdict on all, the number of gated
// metrics, and, where the machine is unfit, why; then no gated metric passes or fails.
func judge(metrics []Metric) (overall Verdict, gated int, unfit []string) {
	var judged []*Metric
	for i := range metrics {
		m := &metrics[i]
		m.Gated = m.Percentile < 99 || m.Samples >= MinSamplesP99
		if m.Gated {
			gated++
			m.Verdict = Inconclusive
		} else {
			m.Why = fmt.Sprintf("not judged: %d calls in a launch, fewer than %d", m.Samples, MinSamplesP99)
		}
		if pairs := min(len(m.Ratios), len(m.Noise)); pairs < MinPairs {
			m.Why = fmt.Sprintf("%d valid pairs of each kind, fewer than %d", pairs, MinPairs)
			continue
		}
		m.estimate()
		if m.Gated {
			judged = append(judged, m)
		}
	}

	// Holm: the smallest p is held against the strictest level, the next against one that counts one metric less, until one is too large. The
	// metrics that could not be judged count too.
	slices.SortStableFunc(judged, func(a, b *Metric) int { return cmp.Compare(a.Estimate.p, b.Estimate.p) })
	above := true
	for i, m := range judged {
		m.Estimate.setLower(tail / float64(gated-i))
		above = above && m.Estimate.Lower > Unchanged
		switch {
		case m.Estimate.Median > Limit && above:
			m.Verdict = Fail
		case m.Estimate.Upper < Limit:
			m.Verdict = Pass
		}
		if most := maxNoise(m.Percentile); m.Estimate.NoiseFloor > most {
			unfit = append(unfit, fmt.Sprintf("%s p%g: base against itself is ±%.1f %%, more than %g %%", m.Workload, m.Percentile, 100*m.Estimate.NoiseFloor, 100*most))
		}
	}
	slices.Sort(unfit)

	overall = Pass
	for i := range metrics {
		m := &metrics[i]
		if !m.Gated {
			continue
		}
		if len(unfit) > 0 {
			m.Verdict = Inconclusive
		}
		switch {
		case m.Verdict == Fail:
			overall = Fail
		case m.Verdict == Inconclusive && overall == Pass:
			overall = Inconclusive
		}
	}
	if gated == 0 {
		overall = Inconclusive
	}
	return overall, gated, unfit
}

// tail is the share of resamples beyond each end of an interval.
const tail = (1 - Confidence) / 2

func (m *Metric) estimate() {
	medians := bootstrap(logs(m.Ratios))
	noise := bootstrap(logs(m.Noise))
	m.Estimate = &Estimate{
		Median:     math.Exp(stats.Sample{Xs: logs(m.Ratios)}.Quantile(0.5)),
		Upper:      math.Exp(medians.Quantile(1 - tail)),
		NoiseFloor: (math.Exp(noise.Quantile(1-tail)) - math.Exp(noise.Quantile(tail))) / 2,
		medians:    medians,
		p:          shareAtMost(medians, math.Log(Unchanged)),
	}
	m.Estimate.setLower(tail)
}

// setLower sets the lower bound to the one that the given share of resamples are below.
func (e *Estimate) setLower(level float64) {
	e.LowerLevel = level
	e.Lower = math.Exp(e.medians.Quantile(level))
}

func logs(ratios []float64) []float64 {
	logs := make([]float64, len(ratios))
	for i, r := range ratios {
		logs[i] = math.Log(r)
	}
	return logs
}

func maxNoise(percentile float64) float64 {
	for _, q := range quantiles {
		if q.percentile == percentile {
			return q.maxNoise
		}
	}
	panic(fmt.Sprintf("p%g is not judged", percentile))
}
