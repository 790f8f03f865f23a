package stats

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

// What makes a launch invalid. No figure is taken from an invalid launch; it is shown with its reasons instead.
const (
	// MaxWrong, MaxFailed and MaxToolFailed are 0: a call that fails is usually a fast one, so even a few would make a server look
	// better than it is, and a server that answers wrongly under load does other work than the one it is compared with. The
	// gate has shown that each of these calls succeeds, so there is no rate of errors that is to be expected.
	MaxWrong      = 0
	MaxFailed     = 0
	MaxToolFailed = 0

	// MaxDropped is 0: an iteration that could not begin because all users were waiting has no latency, and would have had the
	// longest of all.
	MaxDropped = 0

	// MinAchieved is the least share of the asked rate that must have been served in the window. Below it the server, or the load
	// generator, has fallen behind, and the latencies are those of a queue that grows for as long as one looks.
	MinAchieved = 0.99

	// MaxLagShare bounds how late iterations begin, at the 99th percentile, as a share of the latency that is measured there (or of the
	// objective): the wait counts as latency although it is the load generator's. Up to MaxLagFloorMS it is let pass: that is what the
	// scheduler of a shared CPU takes, and no percentile of a server that is so fast is meant to be read to a fraction of it.
	MaxLagShare   = 0.10
	MaxLagFloorMS = 2.0

	// MaxGeneratorShare is how much of its CPUs the load generator may use. Nearer to all of it, calls wait for a CPU on its side, and
	// the server's latency cannot be told from its own.
	MaxGeneratorShare = 0.70

	// MinUpstreamHeadroom is how many times the rate asked by the fastest server the upstream service must be able to serve.
	// Waiting grows without bound as a service comes near its capacity; at a third of it the wait is a small part of the service
	// time, so that what is measured is the server in front.
	MinUpstreamHeadroom = 3.0

	// MaxThrottled is 0: servers have whole CPUs and no quota. A server that the kernel has stopped because of one was measured under
	// another budget.
	MaxThrottled = 0 * time.Second

	// MaxOther is how much of the CPU time may go elsewhere. The harness's own readings and the kernel's housekeeping take up to 5 % of two
	// CPUs that do nothing else; more is somebody else's work, which falls on one server and not on the next.
	MaxOther = 0.10

	// MaxStolen is how much of it a hypervisor may give to others: it stretches latencies as much as it is.
	MaxStolen = 0.02

	// MinCalls is 1: without any call there is nothing to show.
	MinCalls = 1
)

// ToolCallingUpstream is the tool whose calls reach the upstream service.
const ToolCallingUpstream = "fetch_external_data"

// Judge returns the reasons why a launch of the workload, taken by itself, is invalid.
func Judge(w experiment.Workload, l result.Launch) []string {
	if l.Failure != "" {
		return []string{l.Failure}
	}
	reasons := errorReasons(l.Counts)
	add := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	if code := l.Generator.ExitCode; code != 0 {
		add("k6 ended with exit code %d", code)
	}
	if w.Load.Shape == experiment.ShapeSearch && l.Window == nil {
		return append(reasons, searchReason(l.Search))
	}
	if l.Window == nil || l.Counts.Iterations*float64(max(1, len(w.Calls))) < MinCalls {
		add("no successful call in the window")
		return reasons
	}
	if l.Server.CPUSeconds == nil {
		add("the server's CPU time was not read over the whole window")
	}
	if reason := behind(w, l); reason != "" {
		add("%s", reason)
	}
	if reason := late(w, l); reason != "" {
		add("%s", reason)
	}
	if s := l.Generator.Share; s > MaxGeneratorShare {
		add("%s", busyGenerator(s))
	}
	if s := l.Server.ThrottledSeconds; s > MaxThrottled.Seconds() {
		add("the kernel kept the server from running for %.3g s because of a quota", s)
	}
	if l.Warmup.Class == ClassUnsteady {
		add("%s", unsteadyReason(w, l))
	}
	if s := l.Machine.Other; s > MaxOther {
		add("the machine was busy with something else for %.0f %% of its CPU time, more than %.0f %%", 100*s, 100*MaxOther)
	}
	if s := l.Machine.Stolen; s > MaxStolen {
		add("a hypervisor gave %.1f %% of the machine's CPU time to others, more than %.0f %%", 100*s, 100*MaxStolen)
	}
	return reasons
}

func errorReasons(c result.Counts) []string {
	var reasons []string
	if c.Wrong > MaxWrong {
		reasons = append(reasons, english.Plural(int(c.Wrong), "wrong answer", ""))
	}
	if c.Failed > MaxFailed {
		reasons = append(reasons, english.Plural(int(c.Failed), "failed call", ""))
	}
	if c.ToolFailed > MaxToolFailed {
		reasons = append(reasons, english.Plural(int(c.ToolFailed), "call", "")+" answered with a tool error")
	}
	if c.Dropped > MaxDropped {
		reasons = append(reasons, english.Plural(int(c.Dropped), "dropped iteration", ""))
	}
	return reasons
}

// behind returns why the rate of iterations is not the one that was asked for, or "". Iterations that are still under way at the end of
// the window, as long as the slowest of a hundred takes, are not missing.
func behind(w experiment.Workload, l result.Launch) string {
	if l.AskedPerSecond == 0 {
		return ""
	}
	length := l.Window.Seconds()
	underWay := 1 + l.AskedPerSecond*slowestMS(w, l)/1000
	if l.Counts.Iterations+underWay >= MinAchieved*l.AskedPerSecond*length {
		return ""
	}
	achieved := l.Counts.Iterations / length
	return fmt.Sprintf("%.4g iterations/s of the %.4g asked for, less than %.0f %%", achieved, l.AskedPerSecond, 100*MinAchieved)
}

// slowestMS is the time that the slowest one of a hundred iterations takes at most: its calls follow each other. A search that meets its
// objective has that for a bound.
func slowestMS(w experiment.Workload, l result.Launch) float64 {
	var sum float64
	for _, o := range l.Operations {
		sum += o.Latency.P99MS
	}
	if w.Load.Objective != nil {
		sum = min(sum, 1000*w.Load.Objective.Latency.Seconds())
	}
	return sum
}

// late returns why iterations began too late, or "".
func late(w experiment.Workload, l result.Launch) string {
	if l.Lag == nil {
		return ""
	}
	compared := slowestMS(w, l)
	if w.Load.Objective != nil {
		compared = 1000 * w.Load.Objective.Latency.Seconds()
	}
	limit := max(MaxLagFloorMS, MaxLagShare*compared)
	if l.Lag.P99MS <= limit {
		return ""
	}
	return fmt.Sprintf("%s began one in a hundred iterations %.3g ms late or more, limit %.3g ms", generator, l.Lag.P99MS, limit)
}

// generator begins the reasons that are the load generator's and not the server's.
const generator = "the load generator"

func busyGenerator(share float64) string {
	return fmt.Sprintf("%s used %.0f %% of its CPUs, more than %.0f %%", generator, 100*share, 100*MaxGeneratorShare)
}

// missed returns why a step of a search, which is observed as a launch too, does not meet the objective, or "". What is the load generator's
// comes first: the rest may follow from it.
func missed(w experiment.Workload, step result.Step, l result.Launch) string {
	if step.GeneratorShare > MaxGeneratorShare {
		return busyGenerator(step.GeneratorShare)
	}
	// A server that does not keep up comes before a load generator that is late: an iteration that was dropped moves the intended starts of
	// all that follow it, so that they look late.
	if reasons := errorReasons(l.Counts); len(reasons) > 0 {
		return strings.Join(reasons, ", ")
	}
	if reason := behind(w, l); reason != "" {
		return reason
	}
	if reason := late(w, l); reason != "" {
		return reason
	}
	if o := w.Load.Objective; step.LatencyMS > 1000*o.Latency.Seconds() {
		return fmt.Sprintf("p%g is %.3g ms, more than %s", o.Percentile, step.LatencyMS, o.Latency)
	}
	return ""
}

// MissedByGenerator reports whether a step of a search was missed because of the load generator, so that it says nothing of the server.
func MissedByGenerator(step result.Step) bool { return strings.HasPrefix(step.Missed, generator) }

// searchReason says how a search ended that found no rate.
func searchReason(steps []result.Step) string {
	if len(steps) == 0 {
		return "no rate was tried"
	}
	last := steps[len(steps)-1]
	if last.Met {
		return fmt.Sprintf("no rate was confirmed: the last one tried, %.4g/s, was met, but the search ended there", last.AskedPerSecond)
	}
	return fmt.Sprintf("no rate was confirmed: the last one tried, %.4g/s, was missed because %s", last.AskedPerSecond, last.Missed)
}

// upstreamInvalid returns why launches that call the upstream service are invalid, or "".
func upstreamInvalid(u result.Upstream) string {
	if u.CapacityPerSecond >= MinUpstreamHeadroom*u.AskedPerSecond {
		return ""
	}
	return fmt.Sprintf("upstream serves %.3g calls/s, less than %g times the %.3g that %s asked",
		u.CapacityPerSecond, MinUpstreamHeadroom, u.AskedPerSecond, u.FastestSubject)
}
