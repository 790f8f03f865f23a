package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// Heights of plots. Those of latency are the ones to look into.
const (
	tall = 530.0
	low  = 250.0
)

// headroom keeps lines off the upper edge.
const headroom = 1.05

// since is the number of seconds from the start of the launch's window.
func (t trace) since(at time.Time) float64 { return at.Sub(t.launch.Window.Start).Seconds() }

func (t trace) series() series {
	return series{Name: t.name, Subject: t.launch.Subject, Style: t.style}
}

// quantiles draws latency over the share of calls that were at least as fast. The scale of shares gives each further nine the same
// room, because it is the slow calls in which servers differ. The fastest tenth is left out: the least values of a few calls would
// take half of the height.
func quantiles(title string, traces []trace) plot {
	const perDecade = 40
	first := -math.Log10(1 - 0.1)
	var lines []series
	var ends []string
	least, most, nines := math.Inf(1), 0.0, 1.0
	for _, t := range traces {
		at := func(percentile float64) float64 {
			return float64(max(1, t.latency.ValueAtPercentile(percentile))) / 1000
		}
		s := t.series()
		last := math.Log10(float64(t.latency.TotalCount())) // beyond it there is no call
		for i := 0; ; i++ {
			x := min(first+float64(i)/perDecade, last)
			s.Points = append(s.Points, point{x, at(100 * (1 - math.Pow(10, -x)))})
			if x == last {
				break
			}
		}
		slowest := at(100)
		s.Points = append(s.Points, point{last, slowest})
		lines = append(lines, s)
		least, most, nines = min(least, s.Points[0].Y), max(most, slowest), max(nines, last)
		ends = append(ends, fmt.Sprintf("%s: 50 %% of calls within %s ms, 99 %% within %s ms, the slowest took %s ms",
			t.name, significant(at(50)), significant(at(99)), significant(slowest)))
	}
	x := axis{Label: "calls that took at most so long, %", Max: nines}
	for _, share := range []string{"50", "90", "95", "99", "99.9", "99.99", "99.999", "99.9999"} {
		var percent float64
		fmt.Sscan(share, &percent)
		if value := -math.Log10(1 - percent/100); value <= nines {
			x.Ticks = append(x.Ticks, mark{value, share})
		}
	}
	return draw(tall, x, logAxis("latency, ms", least, most), lines).titled(title, ends)
}

// How a rate that was tried looks.
const (
	spotMet       = "met"
	spotMissed    = "missed"
	spotConfirmed = "confirmed"
)

// knee draws the latency of the objective's percentile over the rates that a search tried. ok is false if none has a latency.
func knee(w experiment.Workload, traces []trace) (p plot, ok bool) {
	o := *w.Load.Objective
	unit := "iterations/s"
	if len(w.Calls) == 1 {
		unit = "calls/s"
	}
	limit := o.Latency.Seconds() * 1000
	slowest, fastest, least, most := math.Inf(1), 0.0, limit, limit
	var lines []series
	var ends []string
	for _, t := range traces {
		s := t.series()
		confirmed := slices.IndexFunc(t.launch.Search, func(step result.Step) bool { return step.Confirming && step.Met })
		for i, step := range t.launch.Search {
			if step.AchievedPerSecond <= 0 || step.LatencyMS <= 0 { // nothing was answered
				continue
			}
			at := point{step.AchievedPerSecond, step.LatencyMS}
			s.Points = append(s.Points, at)
			kind, said := spotMet, "met"
			switch {
			case i == confirmed:
				kind, said = spotConfirmed, "met, and confirmed"
			case !step.Met:
				kind, said = spotMissed, "missed: "+step.Missed
			}
			s.Spots = append(s.Spots, namedPoint{at, kind, fmt.Sprintf("%s: %s asked, %s %s, p%s %s ms, %s",
				t.name, significant(step.AskedPerSecond), significant(at.X), unit, number(o.Percentile), significant(at.Y), said)})
			slowest, fastest = min(slowest, at.X), max(fastest, at.X)
			least, most = min(least, at.Y), max(most, at.Y)
		}
		if len(s.Points) == 0 {
			continue
		}
		slices.SortStableFunc(s.Points, func(a, b point) int { return cmp.Compare(a.X, b.X) })
		lines = append(lines, s)
		if confirmed >= 0 {
			step := t.launch.Search[confirmed]
			ends = append(ends, fmt.Sprintf("%s: %s %s confirmed, with %s ms", t.name, significant(step.AchievedPerSecond), unit, significant(step.LatencyMS)))
		}
	}
	if len(lines) == 0 {
		return plot{}, false
	}
	y := logAxis(fmt.Sprintf("p%s, ms", number(o.Percentile)), least, most)
	p = draw(tall, logAxis(unit+" answered", slowest, fastest), y, lines).titled("Latency of "+w.Name+" against throughput", ends)
	p.Limit = &tick{At: y.place(limit, p.Bottom, p.Top), Label: objective(o)}
	return p, true
}

// callsPerSecond and slowPerSecond draw each second from the first whole one on.
func callsPerSecond(w experiment.Workload, traces []trace) plot {
	unit := "calls/s"
	if len(w.Calls) == 0 {
		unit = "sessions/s"
	}
	most := 1.0
	lines, ends := overSeconds(traces, unit, 0, func(s stats.Second) float64 {
		most = max(most, float64(s.Calls))
		return float64(s.Calls)
	})
	return overTime(traces, linearAxis(unit, 0, headroom*most), lines).zoomable(lines, unit, false, longest(traces)).
		titled(strings.ToUpper(unit[:1])+unit[1:]+" of "+w.Name, ends)
}

func slowPerSecond(w experiment.Workload, traces []trace) plot {
	least, most := math.Inf(1), 0.001
	lines, ends := overSeconds(traces, "ms", math.NaN(), func(s stats.Second) float64 {
		value := max(0.001, s.P99MS) // the least that a histogram holds
		least, most = min(least, value), max(most, value)
		return value
	})
	return overTime(traces, logAxis("p99, ms", min(least, most), most), lines).zoomable(lines, "p99, ms", true, longest(traces)).
		titled("p99 of each second of "+w.Name, ends)
}

// overSeconds makes a line of one value of each whole second up to the end of the window. A second without calls has the value none.
func overSeconds(traces []trace, unit string, none float64, value func(stats.Second) float64) (lines []series, ends []string) {
	const middle = 500 * time.Millisecond
	for _, t := range traces {
		s := t.series()
		least, most := math.Inf(1), 0.0
		next := t.seconds[0].At.Add(time.Second) // the first second had begun when the first call was made
		for _, second := range t.seconds[1:] {
			if !second.At.Before(t.launch.Window.End) {
				break
			}
			for ; next.Before(second.At); next = next.Add(time.Second) {
				s.Points = append(s.Points, point{t.since(next.Add(middle)), none})
			}
			y := value(second)
			least, most = min(least, y), max(most, y)
			s.Points = append(s.Points, point{t.since(second.At.Add(middle)), y})
			next = next.Add(time.Second)
		}
		if len(s.Points) == 0 { // of a window of a second
			continue
		}
		lines = append(lines, s)
		ends = append(ends, fmt.Sprintf("%s: %s to %s %s, window from %s s after the first call on",
			t.name, significant(least), significant(most), unit, significant(t.launch.Warmup.Seconds)))
	}
	return lines, ends
}

// cpu draws the CPU time that a server used in each half second or more, over time.
func cpu(workload string, traces []trace) plot {
	const step = 500 * time.Millisecond
	var lines []series
	var ends []string
	most := 1.0
	for _, t := range traces {
		s := t.series()
		last := t.usage[0]
		for _, u := range t.usage {
			passed := u.At.Sub(last.At)
			if passed < step {
				continue
			}
			used := float64(u.CPU-last.CPU) / float64(passed)
			s.Points = append(s.Points, point{t.since(last.At.Add(passed / 2)), used})
			most = max(most, used)
			last = u
		}
		ends = append(ends, fmt.Sprintf("%s: %s CPUs on average of the window", t.name, significant(*t.launch.Server.CPUSeconds/t.launch.Window.Seconds())))
		if len(s.Points) > 0 { // the readings last half a second at least
			lines = append(lines, s)
		}
	}
	return overTime(traces, linearAxis("CPUs in use", 0, headroom*most), lines).titled("CPU time of the server under "+workload, ends)
}

// memoryInUse draws the memory that a server used, over time.
func memoryInUse(workload string, traces []trace) plot {
	var lines []series
	var ends []string
	most := 0.0
	for _, t := range traces {
		s := t.series()
		for _, u := range t.usage {
			s.Points = append(s.Points, point{t.since(u.At), mebibytes(u.MemoryBytes)})
			most = max(most, mebibytes(u.MemoryBytes))
		}
		lines = append(lines, s)
		ends = append(ends, fmt.Sprintf("%s: %s MiB idle, %s MiB at most", t.name,
			significant(mebibytes(t.launch.Server.MemoryIdleBytes)), significant(mebibytes(t.launch.Server.MemoryPeakBytes))))
	}
	return overTime(traces, linearAxis("memory, MiB", 0, headroom*most), lines).titled("Memory of the server under "+workload, ends)
}

// overTime draws from the first reading or call to the end of the longest window. The launches are laid over each other by the starts of
// their windows.
func overTime(traces []trace, y axis, lines []series) plot {
	first, last := 0.0, longest(traces)
	for _, t := range traces {
		first = min(first, t.since(t.usage[0].At))
	}
	x := linearAxis("seconds since the window began", first, last)
	p := draw(low, x, y, lines)
	p.Window = &span{x.place(0, p.Left, p.Right), x.place(last, p.Left, p.Right)}
	return p
}

// longest is the length of the longest window.
func longest(traces []trace) float64 {
	seconds := 0.0
	for _, t := range traces {
		seconds = max(seconds, t.launch.Window.Seconds())
	}
	return seconds
}

// titled gives the plot its title, and a description for those who do not see it.
func (p plot) titled(title string, ends []string) plot {
	p.Title, p.Description = title, strings.Join(ends, ". ")+"."
	return p
}
