package mcp

import (
	"context"
	"math"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/executor"
)

// intendedStart says when an arrival-rate executor meant to begin this VU's iteration; false for other
// executors, and in setup and teardown. k6 numbers the iterations that it begins, not those that it
// drops, so that after a drop the answer is earlier than the truth: what is derived from it is never too
// small, and exact as long as dropped_iterations is 0.
func intendedStart(ctx context.Context, state *lib.State) (time.Time, bool) {
	scenario := lib.GetScenarioState(ctx)
	if scenario == nil || state.GetScenarioGlobalVUIter == nil {
		return time.Time{}, false
	}
	var after time.Duration
	var ok bool
	switch config := state.Options.Scenarios[scenario.Name].(type) {
	case *executor.ConstantArrivalRateConfig:
		after, ok = constantArrival(config, state.GetScenarioGlobalVUIter())
	case *executor.RampingArrivalRateConfig:
		after, ok = rampingArrival(config, state.GetScenarioGlobalVUIter())
	}
	return scenario.StartTime.Add(after), ok
}

// constantArrival is when iteration n, counted from 0 over all execution segments, begins after the
// start of the scenario. As k6 does, it cuts the period to whole nanoseconds.
func constantArrival(c *executor.ConstantArrivalRateConfig, n uint64) (time.Duration, bool) {
	if c.Rate.Int64 <= 0 {
		return 0, false
	}
	period := time.Duration(float64(c.TimeUnit.Duration) / float64(c.Rate.Int64))
	return period * time.Duration(n), true // #nosec G115 -- no run has 2^63 iterations
}

// rampingArrival is the same for rates that change: iteration n begins when the area under the rate has
// grown to n+1.
func rampingArrival(c *executor.RampingArrivalRateConfig, n uint64) (time.Duration, bool) {
	left := float64(n) + 1
	unit := float64(c.TimeUnit.Duration)
	from := float64(c.StartRate.Int64) / unit
	var begun time.Duration
	for _, stage := range c.Stages {
		to := float64(stage.Target.Int64) / unit
		length := float64(stage.Duration.Duration)
		area := length * (from + to) / 2
		if left <= area {
			return begun + time.Duration(timeToArea(left, from, to, length)), true
		}
		left -= area
		from = to
		begun += stage.Duration.TimeDuration()
	}
	return 0, false
}

// timeToArea solves from*t + (to-from)/(2*length)*t² = area for t, in the form that is stable for all
// slopes, 0 included.
func timeToArea(area, from, to, length float64) float64 {
	slope := (to - from) / length
	return 2 * area / (from + math.Sqrt(math.Max(0, from*from+2*slope*area)))
}
