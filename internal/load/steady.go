package load

import (
	"os"
	"sync/atomic"
	"time"
)

const (
	// exitInterrupted is k6's exit code after an interrupt.
	exitInterrupted = 105
	// steadyPeriod is how often a load is asked whether it may end: k6 writes a second soon after it is over.
	steadyPeriod = 200 * time.Millisecond
)

// endEarly interrupts k6 as soon as the load may end, and returns what says whether it did. The seconds that count are over by then.
func endEarly(k6 *os.Process, until func() bool) (asked func() bool) {
	var interrupted atomic.Bool
	if until != nil {
		ended := make(chan struct{})
		go func() {
			ticks := time.NewTicker(steadyPeriod)
			defer ticks.Stop()
			for !until() {
				select {
				case <-ended:
					return
				case <-ticks.C:
				}
			}
			interrupted.Store(k6.Signal(os.Interrupt) == nil) // fails when k6 has just ended
		}()
		return func() bool { close(ended); return interrupted.Load() }
	}
	return interrupted.Load
}
