package experiment

import (
	"math/rand/v2"
	"slices"
)

// Launch is one fresh start of a subject under one workload.
type Launch struct {
	// Number is the position in the run, from 1.
	Number int
	// Block is the number of the block, from 1. The launches of a block have the same workload and follow each other.
	Block             int
	Subject, Workload string
	// Again marks the second launch of the reference under a workload of which every subject has one launch only: what the two differ by is
	// noise.
	Again bool
}

// Plan returns all launches in the order in which to make them; the same seed gives the same order.
//
// A block is every subject of a workload once, in random order, so that a drift of the machine falls on all of them alike. The order of
// blocks is random too, within each round of all workloads. What equal launches differ by is seen in those of several rounds. If there
// is one round only, the references are launched again after it (A/A), under all workloads but searches, which take longest, or under all
// if there is nothing else.
func (e Experiment) Plan(seed uint64) []Launch {
	random := rand.New(rand.NewPCG(seed, 0))
	var plan []Launch
	block := 0
	add := func(w Workload, again bool, subjects ...string) {
		block++
		for _, i := range random.Perm(len(subjects)) {
			plan = append(plan, Launch{Number: len(plan) + 1, Block: block, Subject: subjects[i], Workload: w.Name, Again: again})
		}
	}
	var rounds int
	for _, w := range e.Workloads {
		rounds = max(rounds, w.Launches)
	}
	for round := range rounds {
		for _, i := range random.Perm(len(e.Workloads)) {
			if w := e.Workloads[i]; round < w.Launches {
				add(w, false, w.Subjects...)
			}
		}
	}

	search := func(w Workload) bool { return w.Load.Shape == ShapeSearch }
	compared := slices.DeleteFunc(slices.Clone(e.Workloads), search)
	if len(compared) == 0 {
		compared = e.Workloads
	}
	if slices.ContainsFunc(compared, func(w Workload) bool { return w.Launches > 1 }) {
		return plan
	}
	for _, i := range random.Perm(len(compared)) {
		add(compared[i], true, compared[i].Reference)
	}
	return plan
}
