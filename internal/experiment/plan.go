package experiment

import "math/rand/v2"

// Launch is one fresh start of a subject under one workload.
type Launch struct {
	// Number is the position in the run, from 1.
	Number            int
	Subject, Workload string
}

// Plan returns all launches in the order in which to make them; the same seed gives the same order.
//
// The machine drifts while a run lasts (temperature, neighbours), so what is compared must be measured close together: a block
// holds one launch of every subject under one workload. Blocks, and the subjects in each, come in random order, so that no
// subject always runs first or always follows the same other one.
func (e Experiment) Plan(seed uint64) []Launch {
	random := rand.New(rand.NewPCG(seed, 0))
	var plan []Launch
	for range e.Launches {
		for _, w := range random.Perm(len(e.Workloads)) {
			for _, s := range random.Perm(len(e.Subjects)) {
				plan = append(plan, Launch{Number: len(plan) + 1, Subject: e.Subjects[s], Workload: e.Workloads[w].Name})
			}
		}
	}
	return plan
}
