// Package guard compares two versions of one server and says whether the newer one is slower: launches in pairs, interleaved, in one job
// on one machine, and a verdict that admits when the machine is too noisy to tell.
package guard

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/aclements/go-moremath/stats"
)

// DefaultLooks are the numbers of pairs after which the verdict is looked for. They are fixed before the first launch: looking
// whenever one likes, until one likes the answer, would find a regression in anything.
var DefaultLooks = []int{10, 15, 20}

// Config is what a guard needs.
type Config struct {
	Workloads []string
	// Looks are numbers of pairs, rising, the first at least MinPairs. More pairs are made only while the verdict is Inconclusive.
	Looks []int
	// Seed gives the order of the launches.
	Seed uint64
	// Launch makes one launch of Base or Head. Its error ends the guard; a launch that went wrong is an invalid one.
	Launch func(ctx context.Context, version, workload string) (Launch, error)
	// Progress gets a line for each launch and each look.
	Progress io.Writer
}

// Launch is what one launch gave.
type Launch struct {
	// Latency has the microseconds of the calls in the window; nil in an invalid launch.
	Latency *hdrhistogram.Histogram
	// Invalid are the reasons why the launch does not count; none for a valid one.
	Invalid []string
}

// Report is the outcome.
type Report struct {
	// Subject, Base and Head are for the caller to fill in: what was compared.
	Subject string `json:"subject"`
	Base    string `json:"base"`
	Head    string `json:"head"`
	Seed    uint64 `json:"seed"`
	Looks   []int  `json:"looks"`
	// Pairs is how many pairs of each kind were made for each workload, valid or not.
	Pairs int `json:"pairs"`
	// Gated is the number of metrics that decide, for which Holm's correction was made.
	Gated   int      `json:"gated"`
	Metrics []Metric `json:"metrics"`
	// Invalid describes each invalid launch.
	Invalid []string `json:"invalid_launches,omitempty"`
	// Unfit says why the machine is too noisy; empty if it is not.
	Unfit   []string `json:"unfit,omitempty"`
	Verdict Verdict  `json:"verdict"`
}

// made is a pair whose launches have been made; first is of Base.
type made struct {
	Pair
	first, second Launch
}

func (m made) valid() bool { return len(m.first.Invalid) == 0 && len(m.second.Invalid) == 0 }

// Run makes pairs of launches until there is a verdict or no look is left.
func Run(ctx context.Context, c Config) (*Report, error) {
	if err := CheckLooks(c.Looks); err != nil {
		return nil, err
	}
	report := &Report{Seed: c.Seed, Looks: c.Looks}
	rounds := plan(c.Workloads, c.Looks[len(c.Looks)-1], c.Seed)
	var pairs []made
	for i, look := range c.Looks {
		for report.Pairs < look {
			for _, p := range rounds[report.Pairs] {
				one, err := c.make(ctx, p, report.Pairs+1, look)
				if err != nil {
					return nil, err
				}
				pairs = append(pairs, one)
			}
			report.Pairs++
		}
		report.Metrics = measure(c.Workloads, pairs)
		report.Verdict, report.Gated, report.Unfit = judge(report.Metrics)
		if report.Verdict != Inconclusive {
			break
		}
		if i+1 < len(c.Looks) {
			fmt.Fprintf(c.Progress, "inconclusive after %d pairs; going on to %d\n", look, c.Looks[i+1])
		}
	}
	for _, p := range pairs {
		for _, l := range []struct {
			version string
			Launch
		}{{Base, p.first}, {p.Second, p.second}} {
			for _, reason := range l.Invalid {
				report.Invalid = append(report.Invalid, fmt.Sprintf("%s, %s: %s", l.version, p.Workload, reason))
			}
		}
	}
	return report, nil
}

// CheckLooks says what is wrong with a schedule of looks.
func CheckLooks(looks []int) error {
	const most = 1000
	for i, n := range looks {
		if n < MinPairs || n > most || i > 0 && n <= looks[i-1] {
			return fmt.Errorf("the numbers of pairs are %v: give rising ones from %d to %d, such as 10,15,20", looks, MinPairs, most)
		}
	}
	if len(looks) == 0 {
		return fmt.Errorf("there is no number of pairs: give some, such as 10,15,20")
	}
	return nil
}

// make makes the two launches of a pair.
func (c Config) make(ctx context.Context, p Pair, number, of int) (made, error) {
	one := made{Pair: p}
	launch := func(into *Launch, version string) error {
		fmt.Fprintf(c.Progress, "pair %d/%d, %s, %s against base: %s … ", number, of, p.Workload, p.Second, version)
		l, err := c.Launch(ctx, version, p.Workload)
		if err != nil {
			fmt.Fprintln(c.Progress, "ended")
			return fmt.Errorf("%s under %s: %w", version, p.Workload, err)
		}
		if len(l.Invalid) == 0 && (l.Latency == nil || l.Latency.ValueAtPercentile(quantiles[0].percentile) < 1) {
			l.Invalid = []string{"no latency of a microsecond or more, so there is nothing to divide by"}
		}
		if len(l.Invalid) > 0 {
			fmt.Fprintln(c.Progress, "invalid:", l.Invalid[0])
		} else {
			fmt.Fprintf(c.Progress, "p50 %.3f ms\n", float64(l.Latency.ValueAtPercentile(50))/1000)
		}
		*into = l
		return nil
	}
	steps := []func() error{
		func() error { return launch(&one.first, Base) },
		func() error { return launch(&one.second, p.Second) },
	}
	if p.SecondFirst {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return made{}, err
		}
	}
	return one, nil
}

// measure returns the metrics of the valid pairs, unjudged. A pair counts as a whole or not at all: its launches belong to the same
// moment.
func measure(workloads []string, pairs []made) []Metric {
	var metrics []Metric
	for _, w := range workloads {
		for _, q := range quantiles {
			m := Metric{Workload: w, Percentile: q.percentile, Ratios: []float64{}, Noise: []float64{}}
			var base, head []float64
			for _, p := range pairs {
				if p.Workload != w || !p.valid() {
					continue
				}
				for _, l := range []Launch{p.first, p.second} {
					if n := l.Latency.TotalCount(); m.Samples == 0 || n < m.Samples {
						m.Samples = n
					}
				}
				first := float64(p.first.Latency.ValueAtPercentile(q.percentile)) / 1000
				second := float64(p.second.Latency.ValueAtPercentile(q.percentile)) / 1000
				base = append(base, first)
				if p.Second == Head {
					head = append(head, second)
					m.Ratios = append(m.Ratios, second/first)
				} else {
					base = append(base, second)
					m.Noise = append(m.Noise, second/first)
				}
			}
			if len(base) > 0 && len(head) > 0 {
				m.BaseMS, m.HeadMS = stats.Sample{Xs: base}.Quantile(0.5), stats.Sample{Xs: head}.Quantile(0.5)
			}
			metrics = append(metrics, m)
		}
	}
	return metrics
}
