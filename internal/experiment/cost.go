package experiment

import "time"

// What a run takes beside its loads, as it was on two CPUs of a cloud machine with the servers built.
const (
	gateTime   = 25 * time.Second
	launchTime = 2500 * time.Millisecond // to start and stop a server
	stepTime   = time.Second             // to start k6 once more on a server that runs
	// searchSteps is how many rates a search tries as a rule: it doubles from a quarter of what the warm-up reached until a rate is missed,
	// then halves the bracket until it is within 5 %.
	searchSteps = 8
)

// extraLoad is what each load lasts beyond warm-up and duration, so that the window can consist of whole seconds.
const extraLoad = time.Second

// Estimate is about how long a run takes once everything is built.
func (e Experiment) Estimate() time.Duration {
	total := gateTime
	for _, l := range e.Plan(0) { // any order takes as long
		total += e.Workload(l.Workload).Load.Time()
	}
	return total
}

// Time is about how long one launch takes.
func (l Load) Time() time.Duration {
	all := launchTime + time.Duration(l.Warmup+l.Duration) + extraLoad
	if l.Shape == ShapeSearch {
		// The warm-up, each step and the confirmation are loads of their own.
		all += extraLoad + stepTime + searchSteps*(time.Duration(l.Objective.Step)+stepTime)
	}
	return all
}
