package guard

import "math/rand/v2"

// The versions that are compared.
const (
	Base = "base"
	Head = "head"
)

// Pair is two launches under one workload, made one after the other because the machine drifts.
type Pair struct {
	Workload string
	// Second is Head, or Base in a pair that shows the noise of the machine. The first of the pair is Base. What is compared is
	// the second over the first.
	Second string
	// SecondFirst says that the second is launched before the first.
	SecondFirst bool
}

// plan returns the rounds of the guard. A round is, for each workload, one pair of each kind. All orders are random: of the
// workloads in a round, of the two kinds, and inside each pair. The same seed gives the same rounds, and more rounds begin with
// those of fewer.
func plan(workloads []string, rounds int, seed uint64) [][]Pair {
	random := rand.New(rand.NewPCG(seed, 0))
	planned := make([][]Pair, rounds)
	for round := range planned {
		for _, w := range random.Perm(len(workloads)) {
			kinds := []string{Base, Head}
			random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
			for _, second := range kinds {
				planned[round] = append(planned[round], Pair{Workload: workloads[w], Second: second, SecondFirst: random.IntN(2) == 1})
			}
		}
	}
	return planned
}
