package guard

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"
)

// bootstrap resamples log ratios and returns the sorted medians of the resamples, from which percentile intervals are read. The
// generator is seeded from the data, so the same ratios give the same interval on every machine and at every repetition.
func bootstrap(logRatios []float64) stats.Sample {
	hash := sha256.New()
	for _, x := range logRatios {
		hash.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
	}
	sum := hash.Sum(nil)
	random := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])))

	medians := stats.Sample{Xs: make([]float64, resamples)}
	resample := stats.Sample{Xs: make([]float64, len(logRatios)), Sorted: true}
	for i := range medians.Xs {
		for j := range resample.Xs {
			resample.Xs[j] = logRatios[random.IntN(len(logRatios))]
		}
		slices.Sort(resample.Xs)
		medians.Xs[i] = resample.Quantile(0.5)
	}
	return *medians.Sort()
}

// shareAtMost returns the share of the sorted values that are at most x.
func shareAtMost(sorted stats.Sample, x float64) float64 {
	above := sort.Search(len(sorted.Xs), func(i int) bool { return sorted.Xs[i] > x })
	return float64(above) / float64(len(sorted.Xs))
}
