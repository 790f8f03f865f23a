package load

import (
	"bytes"
	"context"
	"fmt"
	"os"
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
	peak    int64
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

// stop takes a last reading and returns all, at least one, and the peak of memory in bytes. The error is that of the first
// reading that failed.
func (w *watcher) stop(ctx context.Context) (samples []stats.Sample, peak int64, err error) {
	w.cancel()
	<-w.done
	for now := time.Now(); w.err == nil && w.samples[len(w.samples)-1].At.Before(now) && time.Since(now) < lastReading; {
		w.err = w.read(ctx)
	}
	return w.samples, w.peak, w.err
}

func (w *watcher) read(ctx context.Context) error {
	u, err := w.server.Usage(ctx)
	if err != nil {
		return err
	}
	if n := len(w.samples); n == 0 || u.At.After(w.samples[n-1].At) {
		w.samples = append(w.samples, stats.Sample{At: u.At, CPU: u.CPU, MemoryBytes: u.Memory})
	}
	w.peak = max(w.peak, u.Memory, u.PeakMemory)
	return nil
}

// writeUsage writes the readings as CSV.
func writeUsage(path string, samples []stats.Sample) error {
	var text bytes.Buffer
	text.WriteString("unix_us,cpu_us,memory_bytes\n")
	for _, s := range samples {
		fmt.Fprintf(&text, "%d,%d,%d\n", s.At.UnixMicro(), s.CPU.Microseconds(), s.MemoryBytes)
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}
