package mcp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib/executor"
	"go.k6.io/k6/v2/lib/types"
	"gopkg.in/guregu/null.v3"
)

func TestConstantArrival(t *testing.T) {
	t.Parallel()
	c := executor.NewConstantArrivalRateConfig("s")
	c.Rate = null.IntFrom(500)
	for n, want := range map[uint64]time.Duration{0: 0, 1: 2 * time.Millisecond, 500: time.Second} {
		got, ok := constantArrival(c, n)
		require.True(t, ok)
		assert.Equal(t, want, got)
	}
	c.Rate, c.TimeUnit = null.IntFrom(3), types.NullDurationFrom(time.Minute)
	got, ok := constantArrival(c, 2)
	require.True(t, ok)
	assert.Equal(t, 40*time.Second, got)
}

// The example of k6's own documentation of the executor, worked by hand: 2/s for 5 s, then up to 3/s
// in 5 s, with the areas 10 and 12.5, then down to nothing.
func TestRampingArrival(t *testing.T) {
	t.Parallel()
	c := executor.NewRampingArrivalRateConfig("s")
	c.StartRate = null.IntFrom(2)
	stage := func(target int64) executor.Stage {
		return executor.Stage{Duration: types.NullDurationFrom(5 * time.Second), Target: null.IntFrom(target)}
	}
	c.Stages = []executor.Stage{stage(2), stage(3), stage(0)}
	for n, want := range map[uint64]float64{
		0:  0.5,                // the first one comes when the area is 1
		9:  5,                  // the last one of the first stage
		10: 5.488088481701516,  // 2t + t²/10 = 1
		21: 9.832396974191326,  // 2t + t²/10 = 12
		28: 13.174258141649446, // 3t - 3t²/10 = 6.5
		29: 15,                 // the very end
	} {
		got, ok := rampingArrival(c, n)
		require.True(t, ok, n)
		assert.InDelta(t, want, got.Seconds(), 1e-6, n)
	}
	_, ok := rampingArrival(c, 30) // the areas add up to 30, and this one would be the 31st
	assert.False(t, ok)
}
