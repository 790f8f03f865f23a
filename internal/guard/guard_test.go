package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// machine is a machine on which launches are made, and a server whose head is slower by a factor. Nothing takes time: latencies
// are drawn.
type machine struct {
	random *rand.Rand
	// noise is the standard deviation of a launch, as a logarithm; the tail has as much again.
	noise float64
	// drift is by how much each launch is slower than the last; spikes is the share of launches that a neighbour makes half as
	// slow again.
	drift, spikes float64
	// head is the latency of head over that of base.
	head float64
	// calls is the number of calls in a launch.
	calls int64
	slot  int
}

func (m *machine) launch(_ context.Context, version, _ string) (Launch, error) {
	factor := math.Exp(m.noise*m.random.NormFloat64() + m.drift*float64(m.slot))
	tail := math.Exp(m.noise * m.random.NormFloat64())
	m.slot++
	if m.random.Float64() < m.spikes {
		factor *= 1.5
	}
	if version == Head {
		factor *= m.head
	}
	// 500 values at even steps of a log-normal distribution, as recorded ones look: a body around 1 ms and a long tail.
	const steps = 500
	h := hdrhistogram.New(1, 3_600_000_000, 3)
	for i := range steps {
		q := (float64(i) + 0.5) / steps
		value := 1000 * factor * math.Exp(0.4*math.Sqrt2*math.Erfinv(2*q-1))
		if q > 0.97 {
			value *= tail
		}
		if err := h.RecordValues(int64(value), m.calls/steps); err != nil {
			return Launch{}, err
		}
	}
	return Launch{Latency: h}, nil
}

// simulate runs a guard with one workload on the machine.
func simulate(t *testing.T, seed uint64, m machine) *Report {
	t.Helper()
	m.random = rand.New(rand.NewPCG(seed, 1))
	r, err := Run(t.Context(), Config{Workloads: []string{"fib"}, Looks: DefaultLooks, Seed: seed, Launch: m.launch, Progress: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSimulations has the conditions of docs/guard.md: on each machine 20 guards, each with its own seed.
func TestSimulations(t *testing.T) {
	const seeds = 20
	steady := machine{noise: 0.02, head: 1, calls: 12_000}
	drifting := machine{noise: 0.02, drift: 0.01, spikes: 0.03, head: 1, calls: 12_000}
	noisy := machine{noise: 0.08, drift: 0.03, spikes: 0.03, head: 1, calls: 12_000}
	for _, test := range []struct {
		name    string
		machine machine
		head    float64
		// pass and fail are the least and the most of the 20 verdicts.
		pass, fail [2]int
	}{
		{"no change, steady", steady, 1, [2]int{18, 20}, [2]int{0, 0}},
		{"no change, drifting", drifting, 1, [2]int{10, 20}, [2]int{0, 0}},
		{"no change, noisy", noisy, 1, [2]int{0, 20}, [2]int{0, 0}},
		{"+25 %, steady", steady, 1.25, [2]int{0, 0}, [2]int{20, 20}},
		{"+25 %, drifting", drifting, 1.25, [2]int{0, 0}, [2]int{18, 20}},
		{"+25 %, noisy: unfit, so it never passes", noisy, 1.25, [2]int{0, 0}, [2]int{0, 20}},
		{"+3 %, steady", steady, 1.03, [2]int{15, 20}, [2]int{0, 0}},
		{"25 % faster, drifting", drifting, 0.8, [2]int{10, 20}, [2]int{0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			counts := map[Verdict]int{}
			for seed := range uint64(seeds) {
				m := test.machine
				m.head = test.head
				r := simulate(t, seed, m)
				counts[r.Verdict]++
				if r.Gated != 3 {
					t.Errorf("seed %d: %d gated metrics, wanted 3", seed, r.Gated)
				}
			}
			if n := counts[Pass]; n < test.pass[0] || n > test.pass[1] {
				t.Errorf("PASS %d times, wanted %v", n, test.pass)
			}
			if n := counts[Fail]; n < test.fail[0] || n > test.fail[1] {
				t.Errorf("FAIL %d times, wanted %v", n, test.fail)
			}
			t.Log(counts)
		})
	}
}

func TestRunIsRepeatable(t *testing.T) {
	m := machine{noise: 0.03, drift: 0.01, spikes: 0.05, head: 1.1, calls: 12_000}
	var texts [2]bytes.Buffer
	for i := range texts {
		if err := simulate(t, 7, m).WriteJSON(&texts[i]); err != nil {
			t.Fatal(err)
		}
	}
	if texts[0].String() != texts[1].String() {
		t.Error("the same seed and the same launches gave two reports")
	}
	var r Report
	if err := json.Unmarshal(texts[0].Bytes(), &r); err != nil || len(r.Metrics) != 3 || len(r.Metrics[0].Ratios) != r.Pairs {
		t.Errorf("error %v; wanted 3 metrics with all ratios, got %+v", err, r)
	}
}

func TestPlan(t *testing.T) {
	workloads := []string{"a", "b"}
	rounds := plan(workloads, 2000, 5)
	secondFirst, kindFirst, workloadFirst := 0, 0, 0
	for _, round := range rounds {
		seen := map[string]int{}
		for _, p := range round {
			seen[p.Workload+p.Second]++
			if p.SecondFirst {
				secondFirst++
			}
		}
		if len(round) != 4 || len(seen) != 4 {
			t.Fatalf("a round has %v, wanted one pair of each kind for each workload", round)
		}
		if round[0].Workload != round[1].Workload {
			t.Error("the pairs of a workload are not side by side")
		}
		if round[0].Second == Head {
			kindFirst++
		}
		if round[0].Workload == "a" {
			workloadFirst++
		}
	}
	for what, share := range map[string]float64{
		"second first": float64(secondFirst) / 8000, "head before base": float64(kindFirst) / 2000, "a before b": float64(workloadFirst) / 2000,
	} {
		if share < 0.45 || share > 0.55 {
			t.Errorf("%s in %.0f %%, wanted about half", what, 100*share)
		}
	}
	if !slices.EqualFunc(plan(workloads, 10, 5), rounds[:10], slices.Equal) {
		t.Error("fewer rounds with the same seed are not the first of more")
	}
	if slices.EqualFunc(plan(workloads, 10, 6), rounds[:10], slices.Equal) {
		t.Error("another seed gives the same order")
	}
}

// TestRunOrder follows the launches: each in the order of the plan, and no more than the verdict needs.
func TestRunOrder(t *testing.T) {
	m := machine{random: rand.New(rand.NewPCG(1, 1)), noise: 0.01, head: 1, calls: 12_000}
	var got []string
	r, err := Run(t.Context(), Config{Workloads: []string{"a", "b"}, Looks: []int{6, 8}, Seed: 3, Progress: io.Discard,
		Launch: func(ctx context.Context, version, workload string) (Launch, error) {
			got = append(got, version+" "+workload)
			return m.launch(ctx, version, workload)
		}})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, round := range plan([]string{"a", "b"}, 6, 3) {
		for _, p := range round {
			versions := []string{Base, p.Second}
			if p.SecondFirst {
				slices.Reverse(versions)
			}
			for _, v := range versions {
				want = append(want, v+" "+p.Workload)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got launches %v, wanted %v", got, want)
	}
	if r.Verdict != Pass || r.Pairs != 6 || r.Gated != 6 {
		t.Errorf("got %s after %d pairs with %d metrics, wanted PASS after 6 with 6", r.Verdict, r.Pairs, r.Gated)
	}
}

func TestRunMorePairs(t *testing.T) {
	// Head is 5 % slower, and 14 % at every third launch: the median is below the limit, but its upper bound is not.
	m := machine{random: rand.New(rand.NewPCG(1, 1)), noise: 0.005, calls: 12_000}
	heads := 0
	r, err := Run(t.Context(), Config{Workloads: []string{"a"}, Looks: DefaultLooks, Seed: 1, Progress: io.Discard,
		Launch: func(ctx context.Context, version, workload string) (Launch, error) {
			if version == Head {
				heads++
				m.head = []float64{1.05, 1.05, 1.14}[heads%3]
			}
			return m.launch(ctx, version, workload)
		}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != Inconclusive || r.Pairs != 20 {
		t.Errorf("got %s after %d pairs, wanted INCONCLUSIVE after 20", r.Verdict, r.Pairs)
	}
	if text := r.text(); !strings.Contains(lastLine(text), "INCONCLUSIVE after 20 pairs") || !strings.Contains(lastLine(text), "noise floor") {
		t.Errorf("the last line is %q", lastLine(text))
	}
}

func TestRunErrors(t *testing.T) {
	broken := errors.New("no server")
	config := Config{Workloads: []string{"a"}, Looks: DefaultLooks, Progress: io.Discard,
		Launch: func(context.Context, string, string) (Launch, error) { return Launch{}, broken }}
	if _, err := Run(t.Context(), config); !errors.Is(err, broken) {
		t.Errorf("got error %v, wanted that of the launch", err)
	}
	for _, looks := range [][]int{nil, {5}, {10, 10}, {10, 8}, {1001}} {
		config.Looks = looks
		if _, err := Run(t.Context(), config); err == nil || errors.Is(err, broken) {
			t.Errorf("looks %v: got error %v, wanted one about them", looks, err)
		}
	}
}

// TestInvalidLaunches: a pair with an invalid launch counts for nothing, and with too few pairs nothing is concluded.
func TestInvalidLaunches(t *testing.T) {
	for _, test := range []struct {
		name    string
		invalid func(head int) bool // of the head's launches, counted from 1
		pairs   int                 // made
		valid   int
		verdict Verdict
	}{
		{"one", func(head int) bool { return head == 3 }, 10, 9, Pass},
		{"all", func(int) bool { return true }, 20, 0, Inconclusive},
		{"most at first", func(head int) bool { return head <= 6 }, 15, 9, Pass},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := machine{random: rand.New(rand.NewPCG(4, 1)), noise: 0.01, head: 1, calls: 12_000}
			head, bad := 0, 0
			r, err := Run(t.Context(), Config{Workloads: []string{"a"}, Looks: DefaultLooks, Seed: 2, Progress: io.Discard,
				Launch: func(ctx context.Context, version, workload string) (Launch, error) {
					if version == Head {
						head++
						if test.invalid(head) {
							bad++
							// A histogram that would count for a lot, if it counted.
							h := hdrhistogram.New(1, 3_600_000_000, 3)
							return Launch{Latency: h, Invalid: []string{"1 wrong answer"}}, h.RecordValues(1_000_000, 12_000)
						}
					}
					return m.launch(ctx, version, workload)
				}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != test.verdict || r.Pairs != test.pairs || len(r.Metrics[0].Ratios) != test.valid || len(r.Invalid) != bad {
				t.Errorf("got %s after %d pairs, %d valid, invalid %v; wanted %s after %d, %d valid, %d invalid",
					r.Verdict, r.Pairs, len(r.Metrics[0].Ratios), r.Invalid, test.verdict, test.pairs, test.valid, bad)
			}
			if text := r.text(); !strings.Contains(text, "head, a: 1 wrong answer") {
				t.Errorf("the report does not show the invalid launch:\n%s", text)
			}
		})
	}
}

func TestNoLatency(t *testing.T) {
	r, err := Run(t.Context(), Config{Workloads: []string{"a"}, Looks: []int{6}, Progress: io.Discard,
		Launch: func(context.Context, string, string) (Launch, error) {
			h := hdrhistogram.New(1, 3_600_000_000, 3)
			return Launch{Latency: h}, h.RecordValues(0, 12_000)
		}})
	if err != nil || r.Verdict != Inconclusive || len(r.Invalid) != 24 {
		t.Errorf("got %+v and error %v, wanted 24 invalid launches", r, err)
	}
	if text := r.text(); strings.Contains(text, "0.000") {
		t.Errorf("a latency that nobody measured is shown:\n%s", text)
	}
}

func TestP99NeedsSamples(t *testing.T) {
	r := simulate(t, 3, machine{noise: 0.01, head: 1, calls: 9_500})
	p99 := r.Metrics[2]
	if p99.Gated || p99.Verdict != "" || p99.Estimate == nil || r.Gated != 2 || r.Verdict != Pass {
		t.Errorf("got %+v of %d gated metrics and %s, wanted p99 shown and not judged, and PASS by two", p99, r.Gated, r.Verdict)
	}
	if text := r.text(); !strings.Contains(text, "not judged: 9500 calls in a launch, fewer than 10000") || !strings.Contains(text, "m = 2") {
		t.Errorf("the table does not say why p99 is not judged:\n%s", text)
	}
}

func TestText(t *testing.T) {
	r := simulate(t, 1, machine{noise: 0.01, head: 1.25, calls: 12_000})
	r.Subject, r.Base, r.Head = "go", "main (0123456789)", "(working tree)"
	text := r.text()
	for _, want := range []string{"go: head (working tree) against base main (0123456789)", "10 pairs", "seed 1", "m = 3 judged metrics", "1.25"} {
		if !strings.Contains(text, want) {
			t.Errorf("wanted %q in\n%s", want, text)
		}
	}
	if want := "FAIL: head is slower: fib p50 +2"; !strings.HasPrefix(lastLine(text), want) {
		t.Errorf("the last line is %q, wanted it to begin with %q", lastLine(text), want)
	}
	unfit := simulate(t, 1, machine{noise: 0.15, head: 1.25, calls: 12_000})
	if text := unfit.text(); unfit.Verdict != Inconclusive || !strings.Contains(text, "too noisy now") || !strings.HasPrefix(lastLine(text), "INCONCLUSIVE") {
		t.Errorf("got %s and\n%s", unfit.Verdict, text)
	}
	if r := simulate(t, 1, machine{noise: 0.01, head: 1, calls: 12_000}); !strings.HasPrefix(lastLine(r.text()), "PASS") {
		t.Errorf("the last line is %q, wanted PASS", lastLine(r.text()))
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[len(lines)-1]
}
