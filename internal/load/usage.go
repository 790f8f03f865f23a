package load

import (
	"context"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// readingPeriod is the time between two readings of a server's counters. The CPU time of a window is interpolated between the
// readings around its ends; with 100 ms, what this can be wrong by is at most 2 % of a window of 10 s. Reading more often
// would take CPU time from the load.
const readingPeriod = 100 * time.Millisecond

// lastReading is how long the reading after the load may take. A container engine reads on its own, about once a second, and
// answers with what it read last; the reading that counts is the first that was taken after the load.
const lastReading = 5 * time.Second

// watcher reads the counters of a server in the background.
type watcher struct {
	server  backend.Instance
	cancel  context.CancelFunc
	done    chan struct{}
	samples []stats.Sample
	err     error
}

// watch takes a first reading and goes on until stop.
func watch(ctx context.Context, server backend.Instance) (*watcher, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{server: server, cancel: cancel, done: make(chan struct{})}
	if err := w.read(ctx); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		defer close(w.done)
		ticks := time.NewTicker(readingPeriod)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			if err := w.read(ctx); err != nil && ctx.Err() == nil {
				w.err = err
				return
			}
		}
	}()
	return w, nil
}

// stop takes a last reading and returns all, at least one. The error is that of the first reading that failed.
func (w *watcher) stop(ctx context.Context) ([]stats.Sample, error) {
	w.cancel()
	<-w.done
	for now := time.Now(); w.err == nil && w.samples[len(w.samples)-1].At.Before(now) && time.Since(now) < lastReading; {
		w.err = w.read(ctx)
	}
	return w.samples, w.err
}

func (w *watcher) read(ctx context.Context) error {
	u, err := w.server.Usage(ctx)
	if err != nil {
		return err
	}
	one := stats.Sample{At: u.At.Truncate(time.Microsecond), CPU: u.CPU.Truncate(time.Microsecond), MemoryBytes: u.Memory, PeakBytes: max(u.Memory, u.PeakMemory)}
	if len(w.samples) == 0 {
		w.samples = []stats.Sample{one}
		return nil
	}
	last := &w.samples[len(w.samples)-1]
	one.PeakBytes = max(one.PeakBytes, last.PeakBytes)
	if one.At.After(last.At) {
		w.samples = append(w.samples, one)
	} else { // an engine's reading that is known already, but the peak may be newer
		last.PeakBytes = one.PeakBytes
	}
	return nil
}
