package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
	"golang.org/x/sync/errgroup"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

const (
	// usagePeriod is the time between two readings of a server's counters. The CPU time of a window is interpolated between the
	// readings around its ends; with 100 ms, what this can be wrong by is at most 2 % of a window of 10 s. Reading more often
	// would take CPU time from the load.
	usagePeriod = 100 * time.Millisecond
	// machinePeriod is that of the other counters, which answer whether the machine was fit, and not what a server costs.
	machinePeriod = 500 * time.Millisecond
	// lastReading is how long the reading after the load may take. A container engine reads on its own, about once a second, and
	// answers with what it read last; the reading that counts is the first that was taken after the load.
	lastReading = 5 * time.Second
)

// cpuTimes reads how long the CPUs of the machine have been busy, without waiting for a disk, and how long a hypervisor gave them to others.
func cpuTimes(ctx context.Context) (busy, stolen time.Duration, err error) {
	all, err := cpu.TimesWithContext(ctx, false)
	if err != nil {
		return 0, 0, fmt.Errorf("read what the CPUs did: %w", err)
	}
	t := all[0] // the sum of all CPUs; what guests used is in User
	return duration(t.User + t.Nice + t.System + t.Irq + t.Softirq), duration(t.Steal), nil
}

// watcher reads the counters of a server, of what makes its load and of the machine in the background.
type watcher struct {
	server, upstream backend.Instance
	cpuTimes         func(context.Context) (busy, stolen time.Duration, err error)
	generator        generatorCPU
	cancel           context.CancelFunc
	loops            errgroup.Group

	mu      sync.Mutex
	usage   []stats.Sample
	machine []stats.MachineSample
}

// watch takes first readings and goes on until stop.
func (c Config) watch(ctx context.Context, server backend.Instance) (*watcher, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{server: server, upstream: c.Upstream, cpuTimes: cpuTimes, cancel: cancel}
	if c.cpuTimes != nil {
		w.cpuTimes = c.cpuTimes
	}
	if err := errors.Join(w.readUsage(ctx), w.readMachine(ctx)); err != nil {
		cancel()
		return nil, err
	}
	w.loops.Go(func() error { return repeat(ctx, usagePeriod, w.readUsage) })
	w.loops.Go(func() error { return repeat(ctx, machinePeriod, w.readMachine) })
	return w, nil
}

// repeat calls read every period until ctx ends or there is an error.
func repeat(ctx context.Context, period time.Duration, read func(context.Context) error) error {
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		if err := read(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// stop takes last readings, after which the server may go. The error is that of the first reading that failed.
func (w *watcher) stop(ctx context.Context) error {
	w.cancel()
	err := w.loops.Wait()
	for now := time.Now(); err == nil && w.usage[len(w.usage)-1].At.Before(now) && time.Since(now) < lastReading; {
		err = w.readUsage(ctx)
	}
	if err != nil {
		return err
	}
	return w.readMachine(ctx)
}

// write writes all readings so far into a folder.
func (w *watcher) write(folder string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(stats.WriteUsage(folder, w.usage), stats.WriteMachine(folder, w.machine))
}

func (w *watcher) readUsage(ctx context.Context) error {
	u, err := w.server.Usage(ctx)
	if err != nil {
		return fmt.Errorf("read what the server uses: %w", err)
	}
	one := stats.Sample{
		At: u.At.Truncate(time.Microsecond), CPU: u.CPU, Throttled: u.Throttled, MemoryBytes: u.Memory, PeakBytes: max(u.Memory, u.PeakMemory),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.usage) == 0 {
		w.usage = []stats.Sample{one}
		return nil
	}
	last := &w.usage[len(w.usage)-1]
	one.PeakBytes = max(one.PeakBytes, last.PeakBytes)
	if one.At.After(last.At) {
		w.usage = append(w.usage, one)
	} else { // an engine's reading that is known already, but the peak may be newer
		last.PeakBytes = one.PeakBytes
	}
	return nil
}

func (w *watcher) readMachine(ctx context.Context) error {
	upstream, err := w.upstream.Usage(ctx)
	if err != nil {
		return fmt.Errorf("read what the upstream service uses: %w", err)
	}
	busy, stolen, err := w.cpuTimes(ctx)
	if err != nil {
		return err
	}
	one := stats.MachineSample{
		At:        time.Now().Truncate(time.Microsecond),
		Generator: w.generator.read(ctx),
		Upstream:  upstream.CPU,
		Busy:      busy,
		Stolen:    stolen,
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.machine); n == 0 || one.At.After(w.machine[n-1].At) {
		w.machine = append(w.machine, one)
	}
	return nil
}

// generatorCPU is the CPU time of all k6 processes of a launch, one after the other.
type generatorCPU struct {
	mu sync.Mutex
	// ended is the time of those that have ended, read the most that was read.
	ended, most time.Duration
	running     *process.Process
}

func (g *generatorCPU) begin(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running, _ = process.NewProcess(int32(pid)) // the error is for one that has ended, of which end will know all
}

func (g *generatorCPU) end(state *os.ProcessState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = nil
	g.ended += state.UserTime() + state.SystemTime()
}

func (g *generatorCPU) read(ctx context.Context) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.ended
	if g.running != nil {
		if t, err := g.running.TimesWithContext(ctx); err == nil { // else it has just ended
			now += duration(t.User + t.System)
		}
	}
	g.most = max(g.most, now)
	return g.most
}

// duration is a number of seconds, which the kernel counts in hundredths.
func duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}
