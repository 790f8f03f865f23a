package load

import (
	"bytes"
	"os"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// exitInterrupted is k6's exit code after an interrupt.
const exitInterrupted = 105

// endEarly interrupts k6 as soon as the load may end, and returns what says whether it did. The seconds that count are over by then.
func endEarly(k6 *os.Process, r request) (asked func() bool) {
	var interrupted atomic.Bool
	if r.Until != nil {
		ended := make(chan struct{})
		go func() {
			ticks := time.NewTicker(time.Second)
			defer ticks.Stop()
			for !r.Until(r.Folder) {
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

// untilSteady says when a closed load of the workload may end; nil if it may not.
func untilSteady(w experiment.Workload) func(folder string) bool {
	if !w.Load.MayEndEarly() {
		return nil
	}
	seconds := stats.Seconds{}
	offsets := map[string]*int64{} // how far each log was read
	return func(folder string) bool {
		for _, path := range countedLogs(folder, countedName(w)) {
			if offsets[path] == nil {
				offsets[path] = new(int64)
			}
			addSeconds(seconds, newLines(path, offsets[path]))
		}
		return stats.Steady(w, seconds)
	}
}

// addSeconds adds the lines of a log. What cannot be read is left out: the load then lasts longer.
func addSeconds(seconds stats.Seconds, lines []byte) {
	log := hdrhistogram.NewHistogramLogReader(bytes.NewReader(lines))
	for {
		h, err := log.NextIntervalHistogram()
		if err != nil || h == nil {
			return
		}
		if err := seconds.Add(stats.Interval{Start: time.UnixMilli(h.StartTimeMs()).UTC(), Histogram: h}); err != nil {
			return
		}
	}
}
