package experiment

import "time"

// What a run takes beside its loads, as it was on two CPUs of a cloud machine with the servers built.
const (
	gateTime = 25 * time.Second
	// launchTime is what starting and stopping a server takes: the mean of 0.2 s for Go, 0.6 s for Node.js, 1.1 s for Python and 4 s for
	// Java, in containers.
	launchTime = 1500 * time.Millisecond
	// stepTime is what a step takes beside its load: k6 starts, and users open their sessions, for which open.js gives each of them
	// connectTime, and all of them at least minConnectTime.
	stepTime       = 250 * time.Millisecond
	connectTime    = 1500 * time.Microsecond
	minConnectTime = 500 * time.Millisecond
	// searchSteps is how many rates a search tries as a rule: from near what the warm-up reached it needs two or three for a rate that is
	// met and one that is missed, two to bring them within 10 %, and one to try the upper one again. Then one rate is confirmed, or a second
	// one if the first was too high.
	searchSteps   = 6
	confirmations = 2
)

// extraLoad is what each load lasts beyond warm-up and duration, so that the window can consist of whole seconds.
const extraLoad = time.Second

// Estimate is about how long a run takes once everything is built.
func (e Experiment) Estimate() time.Duration {
	total := gateTime
	for _, l := range e.Plan(0) { // any order takes as long
		total += launchTime + e.WorkloadOf(l.Subject, l.Workload).Load.Time()
	}
	return total
}

// Time is how long the load of one launch lasts; the display of a run that goes on needs it too.
func (l Load) Time() time.Duration {
	warmup, duration := time.Duration(l.Warmup), time.Duration(l.Duration)
	if l.Shape != ShapeSearch {
		return warmup + duration + extraLoad
	}
	beside := stepTime + max(minConnectTime, time.Duration(l.Users)*connectTime)
	return warmup + time.Duration(l.WarmFor()) + extraLoad + searchSteps*(time.Duration(l.Objective.Step)+beside) + confirmations*(duration+beside)
}
