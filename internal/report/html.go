package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/dustin/go-humanize/english"

	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// ProofNote is how the note begins that says what was proven before the first launch.
const ProofNote = "Before the first launch the servers gave equal answers"

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed page.css
	style string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(style) },
		"time":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"inc":   func(n int) int { return n + 1 },
		"plus":  func(a, b float64) float64 { return tenths(a + b) },
		"half":  func(a, b float64) float64 { return tenths((a + b) / 2) },
		"minus": func(a, b float64) float64 { return tenths(a - b) },
	}).Parse(pageText))
)

// HTML renders the run in folder dir as one page that needs nothing else. It reads the histograms and the readings of the valid
// launches; the error is for one that cannot be read.
func HTML(run *result.Run, dir string) ([]byte, error) {
	p := page{Run: run, Columns: columns(run), Verdicts: verdicts(run), Conditions: conditions(run)}
	for _, l := range run.Launches {
		if len(l.Invalid) > 0 {
			p.Invalid = append(p.Invalid, l)
		}
	}
	for i, w := range run.Experiment.Workloads {
		g := group{Workload: w.Name, Call: w.Method}
		if w.Tool != "" {
			g.Call = "tools/call " + w.Tool
		}
		for _, c := range run.Cells {
			if c.Workload == w.Name {
				g.Rows = append(g.Rows, row{Server: c.Subject, Valid: c.Figures != nil, Values: values(c)})
			}
		}
		traces, err := read(run, w.Name, dir)
		if err != nil {
			return nil, err
		}
		if len(traces) > 0 {
			used, err := cpu(w.Name, traces)
			if err != nil {
				return nil, err
			}
			g.Plots = []plot{quantiles(w.Name, traces), used, memoryInUse(w.Name, traces)}
			for j := range g.Plots {
				g.Plots[j].ID = fmt.Sprintf("plot-%d-%d", i+1, j+1)
			}
		}
		p.Groups = append(p.Groups, g)
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return out.Bytes(), nil
}

// page is what the template shows.
type page struct {
	Run        *result.Run
	Columns    []string
	Verdicts   []verdict
	Groups     []group
	Invalid    []result.Launch
	Conditions []string
}

// verdict is one thing that must be well before a figure is worth a look.
type verdict struct {
	Good       bool
	What, Text string
}

// group is a workload: its part of the table, and its plots.
type group struct {
	// Call is what each user sends over and over.
	Workload, Call string
	Rows           []row
	// Plots are absent when no launch is valid.
	Plots []plot
}

type row struct {
	Server string
	Valid  bool
	Values []string
}

func verdicts(run *result.Run) []verdict {
	proof := verdict{What: "Equality", Text: "The run does not say that the servers gave equal answers before it."}
	if i := slices.IndexFunc(run.Notes, func(note string) bool { return strings.HasPrefix(note, ProofNote) }); i >= 0 {
		proof.Good, proof.Text = true, run.Notes[i]
	}
	valid := 0
	for _, l := range run.Launches {
		if len(l.Invalid) == 0 {
			valid++
		}
	}
	launches := verdict{
		What: "Launches", Good: valid == len(run.Launches),
		Text: fmt.Sprintf("%d of %s valid", valid, english.Plural(len(run.Launches), "launch is", "launches are")),
	}
	if launches.Good {
		launches.Text += ": no failed call, no wrong answer in the sample."
	} else {
		launches.Text += "; no figure is taken from the others, which are listed below the table."
	}
	all := []verdict{proof, launches}
	if u := run.Upstream; u != nil {
		all = append(all, verdict{
			What: "Headroom", Good: u.CapacityPerSecond >= stats.MinUpstreamHeadroom*u.AskedPerSecond,
			Text: fmt.Sprintf("%s At least %g times are wanted.", Upstream(*u), stats.MinUpstreamHeadroom),
		})
	}
	return all
}

// trace is a valid launch with its raw files read.
type trace struct {
	name    string
	style   int
	launch  result.Launch
	latency *hdrhistogram.Histogram
	// usage ends with the window.
	usage []stats.Sample
}

// read returns the valid launches under a workload, by subject and in the order in which they were made.
func read(run *result.Run, workload, dir string) ([]trace, error) {
	var traces []trace
	for number, subject := range run.Experiment.Subjects {
		nth := 0
		for _, l := range run.Launches {
			if l.Workload != workload || l.Subject != subject {
				continue
			}
			nth++
			if len(l.Invalid) > 0 {
				continue
			}
			t := trace{name: subject, style: number, launch: l}
			if run.Experiment.Launches > 1 {
				t.name = fmt.Sprintf("%s #%d", subject, nth)
			}
			if reasons := stats.Judge(l); len(reasons) > 0 {
				return nil, fmt.Errorf("launch %d is not valid: %s", l.Number, strings.Join(reasons, "; "))
			}
			var err error
			if t.latency, err = stats.ReadHistogram(filepath.Join(dir, filepath.FromSlash(l.Histogram))); err != nil {
				return nil, fmt.Errorf("launch %d: %w", l.Number, err)
			}
			if n := t.latency.TotalCount(); n != l.Counts.OK {
				return nil, fmt.Errorf("launch %d: the histogram holds %d calls, but %d were counted", l.Number, n, l.Counts.OK)
			}
			if t.usage, err = stats.ReadUsage(filepath.Join(dir, filepath.FromSlash(l.Folder))); err != nil {
				return nil, fmt.Errorf("launch %d: read the server's CPU time and memory: %w", l.Number, err)
			}
			t.usage = slices.DeleteFunc(t.usage, func(s stats.Sample) bool { return s.At.After(l.Window.End) })
			if len(t.usage) == 0 {
				return nil, fmt.Errorf("launch %d: the server's CPU time and memory were not read before the window ended", l.Number)
			}
			traces = append(traces, t)
		}
	}
	return traces, nil
}

// since is the number of seconds from the start of the launch's window.
func (t trace) since(at time.Time) float64 { return at.Sub(t.launch.Window.Start).Seconds() }

// quantiles draws latency over the share of calls that were at least as fast. The scale of shares gives each further nine the same
// room, because it is the slow calls in which servers differ. The fastest tenth is left out: the least values of a few calls would
// take half of the height.
func quantiles(workload string, traces []trace) plot {
	const perDecade = 40
	first := -math.Log10(1 - 0.1)
	var lines []series
	var ends []string
	least, most, nines := math.Inf(1), 0.0, 1.0
	for _, t := range traces {
		milliseconds := func(percentile float64) float64 {
			return float64(max(1, t.latency.ValueAtPercentile(percentile))) / 1000
		}
		s := series{Name: t.name, Subject: t.launch.Subject, Style: t.style}
		last := math.Log10(float64(t.latency.TotalCount())) // beyond it there is no call
		for i := 0; ; i++ {
			x := min(first+float64(i)/perDecade, last)
			s.Points = append(s.Points, point{x, milliseconds(100 * (1 - math.Pow(10, -x)))})
			if x == last {
				break
			}
		}
		slowest := milliseconds(100)
		s.Points = append(s.Points, point{last, slowest})
		lines = append(lines, s)
		least, most, nines = min(least, s.Points[0].Y), max(most, slowest), max(nines, last)
		ends = append(ends, fmt.Sprintf("%s: 50 %% of calls within %s ms, 99 %% within %s ms, the slowest took %s ms",
			t.name, significant(milliseconds(50)), significant(milliseconds(99)), significant(slowest)))
	}
	x := axis{Label: "calls that took at most so long, %", Max: nines}
	for _, share := range []string{"50", "90", "95", "99", "99.9", "99.99", "99.999", "99.9999"} {
		var percent float64
		fmt.Sscan(share, &percent)
		if value := -math.Log10(1 - percent/100); value <= nines {
			x.Ticks = append(x.Ticks, mark{value, share})
		}
	}
	p := draw(530, x, logAxis("latency, ms", least, most), lines)
	p.Title = "Latency of " + workload
	p.Description = strings.Join(ends, ". ") + "."
	return p
}

// headroom keeps lines off the upper edge.
const headroom = 1.05

// cpu draws the CPU time that a server used in each half second, over time.
func cpu(workload string, traces []trace) (plot, error) {
	const step = 500 * time.Millisecond
	var lines []series
	var ends []string
	most := 1.0
	for _, t := range traces {
		s := series{Name: t.name, Subject: t.launch.Subject, Style: t.style}
		first, last := t.usage[0].At, t.usage[len(t.usage)-1].At
		for end := first.Add(step); !end.After(last); end = end.Add(step) {
			used, err := stats.CPUBetween(t.usage, end.Add(-step), end)
			if err != nil {
				return plot{}, fmt.Errorf("launch %d: %w", t.launch.Number, err)
			}
			s.Points = append(s.Points, point{t.since(end.Add(-step / 2)), used.Seconds() / step.Seconds()})
			most = max(most, used.Seconds()/step.Seconds())
		}
		ends = append(ends, fmt.Sprintf("%s: %s CPUs on average of the window", t.name, significant(*t.launch.Server.CPUSeconds/t.launch.Window.Seconds())))
		if len(s.Points) > 0 { // the readings last half a second at least
			lines = append(lines, s)
		}
	}
	p := overTime(traces, linearAxis("CPUs in use", 0, headroom*most), lines)
	p.Title = "CPU time of the server under " + workload
	p.Description = strings.Join(ends, ". ") + "."
	return p, nil
}

// memoryInUse draws the memory that a server used, over time.
func memoryInUse(workload string, traces []trace) plot {
	var lines []series
	var ends []string
	most := 0.0
	for _, t := range traces {
		s := series{Name: t.name, Subject: t.launch.Subject, Style: t.style}
		for _, u := range t.usage {
			s.Points = append(s.Points, point{t.since(u.At), mebibytes(u.MemoryBytes)})
			most = max(most, mebibytes(u.MemoryBytes))
		}
		lines = append(lines, s)
		ends = append(ends, fmt.Sprintf("%s: %s MiB idle, %s MiB at most", t.name,
			significant(mebibytes(t.launch.Server.MemoryIdleBytes)), significant(mebibytes(t.launch.Server.MemoryPeakBytes))))
	}
	p := overTime(traces, linearAxis("memory, MiB", 0, headroom*most), lines)
	p.Title = "Memory of the server under " + workload
	p.Description = strings.Join(ends, ". ") + "."
	return p
}

// overTime draws from the first reading to the end of the longest window. The launches are laid over each other by the starts of
// their windows.
func overTime(traces []trace, y axis, lines []series) plot {
	first, last := 0.0, 0.0
	for _, t := range traces {
		first, last = min(first, t.since(t.usage[0].At)), max(last, t.launch.Window.Seconds())
	}
	x := linearAxis("seconds since the warm-up ended", first, last)
	p := draw(250, x, y, lines)
	p.Window = &span{x.place(0, p.Left, p.Right), x.place(last, p.Left, p.Right)}
	return p
}
