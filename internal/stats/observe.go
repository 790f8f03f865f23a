package stats

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

// WarmupFolder is the folder, in that of a launch with a search, of the load that warms the server up. The folders of the steps are
// those of Step.Folder.
const WarmupFolder = "warmup"

// Observe replaces what was observed in a launch, and in the steps of its search, by what its raw files tell. The error is for a file
// that is missing, damaged or contradicts another: nothing is observed then. It is no error in a launch with a Failure, which may have
// left any file unwritten.
func Observe(w experiment.Workload, b result.Budget, runDir string, l *result.Launch) error {
	forget(l)
	err := observe(w, b, runDir, l)
	if err != nil {
		forget(l)
	}
	if l.Failure != "" {
		return nil
	}
	return err
}

// forget removes what was observed.
func forget(l *result.Launch) {
	l.Warmup, l.Window, l.Counts, l.FirstError, l.Operations = nil, nil, result.Counts{}, "", nil
	l.AskedPerSecond, l.Lag, l.Limited = 0, nil, false
	l.Server, l.Machine = result.Server{}, result.Machine{}
	l.Generator = result.Generator{ExitCode: l.Generator.ExitCode}
	for i, step := range l.Search {
		l.Search[i] = result.Step{Folder: step.Folder, AskedPerSecond: step.AskedPerSecond, Confirming: step.Confirming}
	}
}

func observe(w experiment.Workload, b result.Budget, runDir string, l *result.Launch) error {
	folder := filepath.Join(runDir, filepath.FromSlash(l.Folder))
	usage, err := ReadUsage(folder)
	if err != nil {
		return err
	}
	first, last := usage[0], usage[len(usage)-1]
	l.Server = result.Server{MemoryIdleBytes: first.MemoryBytes, MemoryPeakBytes: last.PeakBytes, MemoryEndBytes: last.MemoryBytes}
	machine, err := ReadMachine(folder)
	if err != nil {
		return err
	}
	if w.Load.Shape == experiment.ShapeSearch {
		err = observeSearch(w, b, runDir, l)
	} else {
		err = observeLoad(w, folder, l)
	}
	if err != nil || l.Window == nil {
		return err
	}
	return observeUse(b, usage, machine, l)
}

// observeLoad observes a launch with one load: closed or open.
func observeLoad(w experiment.Workload, folder string, l *result.Launch) error {
	s, err := ReadSummary(folder)
	if err != nil {
		return err
	}
	dropped, err := readDropped(folder)
	if err != nil {
		return err
	}
	s.countErrors(w, &l.Counts, &l.FirstError)
	l.Counts.Dropped = dropped
	if w.Load.Shape == experiment.ShapeOpen {
		l.AskedPerSecond = float64(w.Load.Rate)
	}
	seconds := Seconds{}
	if err := s.perSecond(w, w.Load.Shape, folder, seconds); err != nil {
		return err
	}
	first, last := s.Span()
	l.Warmup, l.Window = warmUp(w, seconds, first, last)
	if l.Window == nil {
		return nil
	}
	_, err = s.observeWindow(w, folder, l.Folder, l)
	return err
}

// observeSearch observes a launch that looked for the highest rate. Its window is that of the last step that confirmed a rate. Calls that
// failed and iterations that were dropped count from that step and from the warm-up only: at a rate that is too high they are what is
// looked for. A wrong answer is one at any rate.
func observeSearch(w experiment.Workload, b result.Budget, runDir string, l *result.Launch) error {
	warmFolder := filepath.Join(runDir, filepath.FromSlash(l.Folder), WarmupFolder)
	warm, err := ReadSummary(warmFolder)
	if err != nil {
		return err
	}
	warm.countErrors(w, &l.Counts, &l.FirstError)
	confirmed := -1
	for i := range l.Search {
		step := &l.Search[i]
		if err := ObserveStep(w, b, runDir, step); err != nil {
			return err
		}
		if step.Confirming && step.Met {
			confirmed = i
		}
	}
	for i, step := range l.Search {
		folder := filepath.Join(runDir, filepath.FromSlash(step.Folder))
		s, err := ReadSummary(folder)
		if err != nil {
			return err
		}
		var counts result.Counts
		var firstError string
		s.countErrors(w, &counts, &firstError)
		l.Counts.Wrong += counts.Wrong
		if l.FirstError == "" && (counts.Wrong > 0 || i == confirmed) {
			l.FirstError = firstError
		}
		if i != confirmed {
			continue
		}
		l.Counts.Failed += counts.Failed
		l.Counts.ToolFailed += counts.ToolFailed
		if l.Counts.Dropped, err = readDropped(folder); err != nil {
			return err
		}
		l.AskedPerSecond = step.AskedPerSecond
		l.Window = stepWindow(w, step, s)
		if _, err := s.observeWindow(w, folder, step.Folder, l); err != nil {
			return err
		}
	}
	if confirmed < 0 {
		return nil
	}
	l.Limited = limited(l.Search, l.AskedPerSecond)
	seconds := Seconds{}
	if err := warm.perSecond(w, experiment.ShapeClosed, warmFolder, seconds); err != nil {
		return err
	}
	first, last := warm.Span()
	whole := wholeSeconds(first.Add(time.Duration(w.Load.Ramp)), last)
	l.Warmup = &result.Warmup{Seconds: l.Window.Start.Sub(first).Seconds(), Class: ClassFlat}
	if whole != nil {
		var change int
		if l.Warmup.Class, change = classify(newSeries(seconds, *whole, false)); change > 0 {
			l.Warmup.ChangeSeconds = whole.Start.Add(time.Duration(change) * time.Second).Sub(first).Seconds()
		}
	}
	return nil
}

// limited reports whether the lowest rate above the capacity that was missed was missed because of the load generator. A search that
// came to its end without such a rate has not found the server's limit either.
func limited(steps []result.Step, capacity float64) bool {
	var next *result.Step
	for i, s := range steps {
		if s.AskedPerSecond > capacity && !s.Met && (next == nil || s.AskedPerSecond < next.AskedPerSecond) {
			next = &steps[i]
		}
	}
	return next == nil || MissedByGenerator(*next)
}

// ObserveStep fills in what the raw files of a step of a search tell: all but its Folder, AskedPerSecond and Confirming. MachineFile of
// the launch must reach to the end of the step. The error is for a file that is missing, damaged or contradicts another.
func ObserveStep(w experiment.Workload, b result.Budget, runDir string, step *result.Step) error {
	*step = result.Step{Folder: step.Folder, AskedPerSecond: step.AskedPerSecond, Confirming: step.Confirming}
	folder := filepath.Join(runDir, filepath.FromSlash(step.Folder))
	machine, err := ReadMachine(filepath.Join(runDir, filepath.FromSlash(path.Dir(path.Dir(step.Folder)))))
	if err != nil {
		return err
	}
	s, err := ReadSummary(folder)
	if err != nil {
		return err
	}
	// The step is judged as a launch with its load would be.
	l := result.Launch{AskedPerSecond: step.AskedPerSecond, Window: stepWindow(w, *step, s)}
	s.countErrors(w, &l.Counts, &l.FirstError)
	if l.Counts.Dropped, err = readDropped(folder); err != nil {
		return err
	}
	if l.Window == nil {
		step.Missed = "no whole second with calls"
		return nil
	}
	calls, err := s.observeWindow(w, folder, step.Folder, &l)
	if err != nil {
		return err
	}
	used, err := between(machine, *l.Window, func(s MachineSample) time.Duration { return s.Generator })
	if err != nil {
		return fmt.Errorf("read %s: %w", MachineFile, err)
	}
	step.GeneratorShare = share(used, len(b.GeneratorCPUs), *l.Window)
	step.AchievedPerSecond = l.Counts.Iterations / l.Window.Seconds()
	step.LatencyMS = milliseconds(calls.ValueAtPercentile(w.Load.Objective.Percentile))
	step.Missed = missed(w, *step, l)
	step.Met = step.Missed == ""
	return nil
}

// stepWindow returns the whole seconds of a step: without the one in which it began and the one in which it was meant to end. It is nil
// when there are none.
func stepWindow(w experiment.Workload, step result.Step, s Summary) *result.Window {
	length := w.Load.Objective.Step
	if step.Confirming {
		length = w.Load.Duration
	}
	first, last := s.Span()
	if end := first.Add(time.Duration(length)); end.Before(last) {
		last = end
	}
	return wholeSeconds(first, last)
}

// LastRate returns the rate of iterations per second at which a closed load of the workload, which left its files in the folder, ended: the
// mean of its last whole seconds, up to so long. The error is for a file that cannot be read, and for a load without a call in them.
func LastRate(w experiment.Workload, folder string, length time.Duration) (float64, error) {
	s, err := ReadSummary(folder)
	if err != nil {
		return 0, err
	}
	// Not the sessions that are ended at last.
	s.Series = slices.DeleteFunc(s.Series, func(one Series) bool { return !counted(w, one.operation()) })
	window := wholeSeconds(s.Span())
	if window == nil {
		return 0, errors.New("no whole second has a call")
	}
	window.Start = latest(window.Start, window.End.Add(-length.Truncate(time.Second)))
	var calls int64
	for _, one := range s.Series {
		h, err := readLog(folder, one.Histogram, one.OK, *window)
		if err != nil {
			return 0, err
		}
		calls += h.TotalCount()
	}
	if calls == 0 {
		return 0, errors.New("no call ended well in the last seconds")
	}
	return float64(calls) / float64(max(1, len(w.Calls))) / window.Seconds(), nil
}

// wholeSeconds returns the longest window of whole seconds from first to last, or nil.
func wholeSeconds(first, last time.Time) *result.Window {
	w := result.Window{Start: ceil(first), End: last.Truncate(time.Second)}
	if !w.Start.Before(w.End) {
		return nil
	}
	return &w
}

// ceil returns the first whole second that is not before t.
func ceil(t time.Time) time.Time { return t.Add(time.Second - 1).Truncate(time.Second) }

// countErrors adds up what did not go well in a load. Calls that were interrupted are no failures of a load that may end early: its end
// interrupts them, after the window.
func (s Summary) countErrors(w experiment.Workload, c *result.Counts, firstError *string) {
	for _, one := range s.Series {
		c.Failed += one.Failed + one.Cancelled
		if !w.Load.MayEndEarly() {
			c.Failed += one.Interrupted
		}
		c.ToolFailed += one.ToolFailed
		c.Wrong += one.Wrong
		for _, text := range []string{one.FirstError, one.FirstWrong} {
			if *firstError == "" {
				*firstError = text
			}
		}
	}
}

// observeWindow fills in what was sent in the launch's window, and returns the latencies of what the workload is counted in.
// The load's folder is that path; name is how the run calls it.
func (s Summary) observeWindow(w experiment.Workload, folder, name string, l *result.Launch) (*hdrhistogram.Histogram, error) {
	all, lags := newHistogram(), newHistogram()
	for _, one := range s.Series {
		durations, err := readLog(folder, one.Histogram, one.OK, *l.Window)
		if err != nil {
			return nil, err
		}
		lag, err := readLog(folder, one.LagHistogram, one.Lags, *l.Window)
		if err != nil {
			return nil, err
		}
		if err := mergeInto(lags, lag); err != nil {
			return nil, err
		}
		o := one.operation()
		o.OK = durations.TotalCount()
		if o.OK == 0 {
			continue
		}
		file, values := one.latencyLog(w.Load.Shape)
		latency := durations
		if file != one.Histogram {
			if latency, err = readLog(folder, file, values, *l.Window); err != nil {
				return nil, err
			}
		}
		o.Histogram, o.Latency = path.Join(name, file), latencyOf(latency)
		l.Operations = append(l.Operations, o)
		l.Counts.Requests += o.OK
		if o.IsCall() {
			l.Counts.OK += o.OK
		}
		if counted(w, o) {
			l.Counts.Iterations += float64(o.OK) / float64(max(1, len(w.Calls)))
			if err := mergeInto(all, latency); err != nil {
				return nil, err
			}
		}
	}
	if lags.TotalCount() > 0 {
		l.Lag = &result.Lag{P50MS: milliseconds(lags.ValueAtPercentile(50)), P99MS: milliseconds(lags.ValueAtPercentile(99)), MaxMS: milliseconds(lags.Max())}
	}
	return all, nil
}

func latencyOf(h *hdrhistogram.Histogram) result.Latency {
	return result.Latency{
		MeanMS: h.Mean() / 1000, // from microseconds
		P50MS:  milliseconds(h.ValueAtPercentile(50)),
		P95MS:  milliseconds(h.ValueAtPercentile(95)),
		P99MS:  milliseconds(h.ValueAtPercentile(99)),
		MaxMS:  milliseconds(h.Max()),
	}
}

func milliseconds(microseconds int64) float64 { return float64(microseconds) / 1000 }

// observeUse fills in what was used in the launch's window. Where the readings of the server do not reach from its start to its end there
// is no CPU time, which makes the launch invalid.
func observeUse(b result.Budget, usage []Sample, machine []MachineSample, l *result.Launch) error {
	w := *l.Window
	var server time.Duration
	if cpu, err := between(usage, w, func(s Sample) time.Duration { return s.CPU }); err == nil {
		throttled, _ := between(usage, w, func(s Sample) time.Duration { return s.Throttled }) // as far as the CPU time
		seconds := cpu.Seconds()
		server, l.Server.CPUSeconds, l.Server.ThrottledSeconds = cpu, &seconds, throttled.Seconds()
		var sum, n int64
		for at := w.Start; !at.After(w.End); at = at.Add(time.Second) {
			memory, _ := valueAt(usage, at, func(s Sample) int64 { return s.MemoryBytes })
			sum, n = sum+memory, n+1
		}
		l.Server.MemoryMeanBytes = sum / n
	}

	var used [4]time.Duration
	for i, counter := range []func(MachineSample) time.Duration{
		func(s MachineSample) time.Duration { return s.Generator },
		func(s MachineSample) time.Duration { return s.Upstream },
		func(s MachineSample) time.Duration { return s.Busy },
		func(s MachineSample) time.Duration { return s.Stolen },
	} {
		var err error
		if used[i], err = between(machine, w, counter); err != nil {
			return fmt.Errorf("read %s: %w", MachineFile, err)
		}
	}
	generator, upstream, busy, stolen := used[0], used[1], used[2], used[3]
	l.Generator.CPUSeconds, l.Generator.UpstreamCPUSeconds = generator.Seconds(), upstream.Seconds()
	l.Generator.Share = share(generator, len(b.GeneratorCPUs), w)
	all := slices.Concat(b.ServerCPUs, b.GeneratorCPUs)
	slices.Sort(all)
	cpus := len(slices.Compact(all)) // on a machine with one CPU it is in both lists
	l.Machine.Other = share(max(0, busy-server-generator-upstream), cpus, w)
	l.Machine.Stolen = share(stolen, cpus, w)
	return nil
}

// share is a time of CPUs over what they have of it in the window.
func share(used time.Duration, cpus int, w result.Window) float64 {
	return used.Seconds() / (float64(max(1, cpus)) * w.Seconds())
}
