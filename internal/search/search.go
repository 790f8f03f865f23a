// Package search looks for the highest rate that a server keeps up with. It decides which rate to try next, and nothing else.
package search

import (
	"fmt"
	"math"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

const (
	// StartShare is the share of the warm-up's rate with which a search starts: a closed load drives a server to its limit, and what is met
	// of that is some half to all of it.
	StartShare = 0.7
	// Growth is by what factor a rate is raised that was met, or lowered that was missed, until there is one of each. From the start one
	// such step either way reaches what is looked for, as a rule, and leaves less to halve than a doubling.
	Growth = math.Sqrt2
	// Resolution is how near the lowest rate that was missed must be to the highest that was met. The confirmation that follows
	// has a noise of this size.
	Resolution = 0.10
	// MaxConfirmations is how often a rate is confirmed, Resolution lower each time. A server that was well for one step and is
	// not well this far below it has no capacity worth the name.
	MaxConfirmations = 5
	// MaxExploring bounds the steps before the confirmation. From a start that is wrong by a factor of eight there are seven steps to a rate
	// of the other kind, two halvings of the bracket and one more try; the rest is for a machine that stalls.
	MaxExploring = 12
)

// Start returns the rate with which the search of a launch starts, in iterations per second: StartShare of that at which its warm-up, a
// closed load that left its files in the folder, ended. The error is for files that cannot be read, or in which no whole second has a call.
func Start(w experiment.Workload, folder string) (float64, error) {
	rate, err := stats.LastRate(w, folder, time.Duration(w.Load.Objective.Step))
	if err != nil {
		return 0, fmt.Errorf("find the rate to start with: %w", err)
	}
	return StartShare * rate, nil
}

// Next returns the rate to try after the steps, in iterations per second, and whether it is a confirmation, which lasts longer; or done. The
// search starts at start: see Start. It has found a capacity when its last step is a confirmation that was met.
//
// The rate grows by Growth while it is met, or falls by it while it is missed; between the highest that was met and the lowest that was
// missed it is then their geometric mean, until the two are within Resolution. A rate that was missed once may have been missed because the
// machine stalled for a moment, so that the lowest of those is then tried again; if it is met this time, the search goes on above it. At
// last the highest that was met is confirmed.
func Next(start float64, steps []result.Step) (rate int, confirming, done bool) {
	exploring, confirmed := steps, []result.Step(nil)
	for i, s := range steps {
		if s.Confirming {
			exploring, confirmed = steps[:i], steps[i:]
			break
		}
	}
	if n := len(confirmed); n > 0 {
		last := confirmed[n-1]
		rate = lower(last.AskedPerSecond)
		return rate, true, last.Met || n == MaxConfirmations || rate < 1
	}

	met, missed := bracket(exploring)
	tries := 0
	for _, s := range exploring {
		if s.AskedPerSecond == missed {
			tries++
		}
	}
	narrow := missed <= met*(1+Resolution) || missed <= met+1
	switch full := len(exploring) >= MaxExploring; {
	case len(exploring) == 0:
		rate = max(1, int(math.Round(start)))
	case full && met == 0 || narrow && met == 0 && tries > 1:
		return 0, false, true
	case full || narrow && tries > 1:
		return int(met), true, false
	case narrow:
		rate = int(missed)
	case math.IsInf(missed, 1):
		rate = max(int(math.Round(met*Growth)), int(met)+1)
	case met == 0:
		rate = int(missed / Growth)
	default:
		// Strictly between the two, which are more than 1 apart.
		rate = min(max(int(math.Round(math.Sqrt(met*missed))), int(met)+1), int(missed)-1)
	}
	return rate, false, false
}

// bracket returns the highest rate that was met, 0 if none was, and the lowest above it, which was missed, infinity if none was.
func bracket(steps []result.Step) (met, missed float64) {
	for _, s := range steps {
		if s.Met {
			met = max(met, s.AskedPerSecond)
		}
	}
	missed = math.Inf(1)
	for _, s := range steps {
		if s.AskedPerSecond > met {
			missed = min(missed, s.AskedPerSecond)
		}
	}
	return met, missed
}

// lower is the next rate to confirm.
func lower(rate float64) int { return min(int(rate*(1-Resolution)), int(rate)-1) }
