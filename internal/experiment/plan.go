package experiment

import "math/rand/v2"

// Launch is one fresh start of a subject under one workload.
type Launch struct {
	// Number is the position in the run, from 1.
	Number int
	// Block is the number of the block, from 1. The launches of a block have the same workload and follow each other.
	Block             int
	Subject, Workload string
	// Again marks the second launch of the reference in a block: what the two differ by is noise.
	Again bool
}

// Plan returns all launches in the order in which to make them; the same seed gives the same order.
//
// A block is every subject of a workload once, in random order, so that a drift of the machine falls on all of them alike. The order of
// blocks is random too, within each round of all workloads. Every other block has the reference a second time (A/A), or every
// one if there is one round only; those of searches, which take longest, only if the experiment has nothing else.
func (e Experiment) Plan(seed uint64) []Launch {
	random := rand.New(rand.NewPCG(seed, 0))
	rounds, onlySearches := 0, true
	for _, w := range e.Workloads {
		rounds = max(rounds, w.Launches)
		onlySearches = onlySearches && w.Load.Shape == ShapeSearch
	}
	every := 2 // blocks with one more launch of the reference
	if rounds == 1 {
		every = 1
	}
	var plan []Launch
	block, candidates := 0, 0
	for round := range rounds {
		for _, i := range random.Perm(len(e.Workloads)) {
			w := e.Workloads[i]
			if round >= w.Launches {
				continue
			}
			block++
			launches := make([]Launch, 0, len(w.Subjects)+1)
			for _, s := range w.Subjects {
				launches = append(launches, Launch{Block: block, Subject: s, Workload: w.Name})
			}
			if onlySearches || w.Load.Shape != ShapeSearch {
				if candidates%every == 0 {
					launches = append(launches, Launch{Block: block, Subject: w.Reference, Workload: w.Name, Again: true})
				}
				candidates++
			}
			random.Shuffle(len(launches), func(i, j int) { launches[i], launches[j] = launches[j], launches[i] })
			for _, l := range launches {
				l.Number = len(plan) + 1
				plan = append(plan, l)
			}
		}
	}
	return plan
}
