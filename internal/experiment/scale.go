package experiment

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

// A shortened load keeps at least this much of its times, or there would be nothing to see: a window of some seconds is needed to tell a
// level from a change of level. The warm-up may be as short as a search needs it, because a longer one is detected.
const (
	minScaledWarmup   = minSearchWarmup
	minScaledDuration = yamlfile.Duration(6 * time.Second)
)

// Scaled returns the experiment with all times of its loads multiplied by a factor above 0 and up to 1, in whole seconds: warm-ups down to
// 2 s, durations down to 6 s, and neither above what the file says. Launches, users, rates and the steps of a search stay, and so does the
// limit of the warm-up: a JVM takes its time however short the window is.
func (e Experiment) Scaled(factor float64) (Experiment, error) {
	if !(factor > 0 && factor <= 1) { // not a number is neither
		return Experiment{}, fmt.Errorf("scale is %g: use a number above 0, up to 1", factor)
	}
	e.Scale = factor
	e.Workloads = slices.Clone(e.Workloads)
	for i := range e.Workloads {
		l := &e.Workloads[i].Load
		l.Warmup = scaled(l.Warmup, factor, minScaledWarmup)
		l.Duration = scaled(l.Duration, factor, minScaledDuration)
		l.Ramp = min(times(l.Ramp, factor, time.Millisecond), l.Warmup)
	}
	return e, nil
}

func scaled(d yamlfile.Duration, factor float64, least yamlfile.Duration) yamlfile.Duration {
	return min(d, max(times(d, factor, time.Second), least))
}

func times(d yamlfile.Duration, factor float64, unit time.Duration) yamlfile.Duration {
	return yamlfile.Duration(time.Duration(float64(d) * factor).Round(unit))
}
