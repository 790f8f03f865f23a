package search_test

import (
	"slices"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/search"
)

// try searches with a server that meets a rate when it says so, and returns the rates that were tried, those of confirmations negative.
func try(t *testing.T, start float64, meets func(rate int, confirming bool) bool) (tried []int, capacity int) {
	t.Helper()
	var steps []result.Step
	for {
		rate, confirming, done := search.Next(start, steps)
		if done {
			if n := len(steps); n > 0 && steps[n-1].Confirming && steps[n-1].Met {
				capacity = int(steps[n-1].AskedPerSecond)
			}
			return tried, capacity
		}
		if rate < 1 || len(steps) >= search.MaxExploring+search.MaxConfirmations {
			t.Fatalf("start %v: rate %d after %d steps", start, rate, len(steps))
		}
		steps = append(steps, result.Step{AskedPerSecond: float64(rate), Confirming: confirming, Met: meets(rate, confirming)})
		if confirming {
			rate = -rate
		}
		tried = append(tried, rate)
	}
}

func TestNext(t *testing.T) {
	upTo := func(limit int) func(int, bool) bool { return func(rate int, _ bool) bool { return rate <= limit } }
	for _, test := range []struct {
		name  string
		start float64
		meets func(int, bool) bool
		tried []int
		found int
	}{
		{"from below", 200, upTo(390), []int{200, 283, 400, 336, 367, 400, -367}, 367},
		{"from above", 700, upTo(390), []int{700, 494, 349, 415, 381, 415, -381}, 381},
		{"right on it", 400, upTo(400), []int{400, 566, 476, 436, 436, -400}, 400},
		{"small numbers", 0.3, upTo(6), []int{1, 2, 3, 4, 6, 8, 7, 7, -6}, 6},
		{"nothing is met", 3, upTo(0), []int{3, 2, 1, 1}, 0},
		{"no call in the warm-up", 0, upTo(0), []int{1, 1}, 0},
		{
			"a confirmation that is missed", 200, func(rate int, confirming bool) bool { return rate <= 200 || rate <= 390 && !confirming },
			[]int{200, 283, 400, 336, 367, 400, -367, -330, -297, -267, -240}, 0,
		},
		{
			"the second is met", 200, func(rate int, confirming bool) bool { return rate <= 340 || rate <= 390 && !confirming },
			[]int{200, 283, 400, 336, 367, 400, -367, -330}, 330,
		},
		{"confirmations at the end of the scale", 1, func(_ int, confirming bool) bool { return !confirming }, nil, 0},
	} {
		tried, found := try(t, test.start, test.meets)
		if test.tried != nil && !slices.Equal(tried, test.tried) || found != test.found {
			t.Errorf("%s: tried %v and found %d, wanted %v and %d", test.name, tried, found, test.tried, test.found)
		}
	}
}

// Whatever the limit and a start within a factor of eight, the search ends soon and finds the limit.
func TestNextFindsTheLimit(t *testing.T) {
	for limit := 1; limit < 20000; limit += 1 + limit/7 {
		for _, factor := range []float64{1. / 8, 0.2, 0.4, 0.5, 0.7, 0.8, 1, 3, 8} {
			start := factor * float64(limit)
			tried, found := try(t, start, func(rate int, _ bool) bool { return rate <= limit })
			if lowest := float64(limit) / (1 + search.Resolution); found > limit || float64(found) < lowest-1 {
				t.Errorf("limit %d, start %v: found %d by %v", limit, start, found, tried)
			}
			if len(tried) > search.MaxExploring+1 {
				t.Errorf("limit %d, start %v: %d steps", limit, start, len(tried))
			}
		}
	}
}

// A stall of the machine makes a server miss a rate that it would meet, which must not end the search there.
func TestNextAfterAStall(t *testing.T) {
	for stalled := range 7 {
		step := -1
		tried, found := try(t, 100, func(rate int, _ bool) bool {
			step++
			return rate <= 390 && step != stalled
		})
		if found < 355 || found > 390 {
			t.Errorf("a stall in step %d: found %d by %v", stalled, found, tried)
		}
	}
}
