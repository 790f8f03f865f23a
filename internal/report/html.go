package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed page.css
	style string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"style":      func() template.CSS { return template.CSS(style) },
		"zoomStyle":  func() template.CSS { return template.CSS(uplotStyle + "\n" + zoomStyle) },
		"script":     func() template.JS { return template.JS(script) },
		"scriptHash": scriptHash,
		"time":       func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"plus":       func(a, b float64) float64 { return tenths(a + b) },
		"half":       func(a, b float64) float64 { return tenths((a + b) / 2) },
		"minus":      func(a, b float64) float64 { return tenths(a - b) },
	}).Parse(pageText))
)

// HTML renders the run in folder dir as one page that needs nothing else. It reads the histograms and the readings of the valid
// launches; the error is for one that cannot be read.
func HTML(run *result.Run, dir string) ([]byte, error) {
	p := page{
		Run: run, State: state(run), Verdicts: verdicts(run), Figures: tables(run), Comparison: compare(run), Conditions: conditions(run),
		Launches: launchTable(run), Environment: environmentTable(run), Servers: serverTable(run), Again: again(run),
	}
	for i := range p.Figures {
		var names []string
		for _, g := range p.Figures[i].Groups {
			names = append(names, g.Name)
		}
		p.Figures[i].Title = p.Figures[i].Head[1] + " under " + english.OxfordWordSeries(names, "and")
	}
	for _, l := range run.Launches {
		if len(l.Invalid) > 0 {
			p.Invalid = append(p.Invalid, l)
		}
	}
	for i, w := range run.Experiment.Workloads {
		plots, err := plots(run, w, dir)
		if err != nil {
			return nil, err
		}
		for j := range plots {
			plots[j].ID = fmt.Sprintf("plot-%d-%d", i+1, j+1)
			p.Zoom = p.Zoom || plots[j].Zoom != nil
		}
		p.Pictures = append(p.Pictures, picture{Workload: w.Name, Calls: calls(w), Plots: plots})
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
	State      []string
	Verdicts   []verdict
	Figures    []grid
	Invalid    []result.Launch
	Comparison *comparison
	Pictures   []picture
	// Zoom is set if a plot is worth a script.
	Zoom                           bool
	Conditions                     []string
	Launches, Environment, Servers grid
	// Again are the commands that make the run again.
	Again string
}

// picture is what a workload looks like. Calls are what each user sends over and over.
type picture struct {
	Workload, Calls string
	// Plots are absent when no launch is valid.
	Plots []plot
}

// plots draws the valid launches of a workload.
func plots(run *result.Run, w experiment.Workload, dir string) ([]plot, error) {
	traces, err := read(run, w, dir)
	if err != nil || len(traces) == 0 {
		return nil, err
	}
	latency := "Latency of " + w.Name
	if len(w.Calls) == 0 {
		latency = "Latency of initialize under " + w.Name
	}
	all := []plot{quantiles(latency, traces)}
	if w.Load.Shape == experiment.ShapeSearch {
		if p, ok := knee(w, traces); ok {
			all = append([]plot{p}, all...)
		}
	}
	all = append(all, callsPerSecond(w, traces), slowPerSecond(w, traces), cpu(w.Name, traces), memoryInUse(w.Name, traces))
	return slices.DeleteFunc(all, func(p plot) bool { return len(p.Lines) == 0 }), nil
}

// calls names what an iteration of the workload sends.
func calls(w experiment.Workload) string {
	if len(w.Calls) == 0 {
		return "a session is opened and closed"
	}
	var names []string
	for _, c := range w.Calls {
		names = append(names, c.Tool+c.Method)
	}
	return strings.Join(names, ", ")
}

// verdict is one thing that must be well before a figure is worth a look.
type verdict struct {
	Good       bool
	What, Text string
}

// minLoadShare is what a run should reach: a harness that spends more of the time on starting and stopping could as well make more launches.
const minLoadShare = 0.85

// maxFloor is the noise floor of the rate above which a run is in doubt: it would not tell a server from one that is half as fast again.
const maxFloor = 0.5

func verdicts(run *result.Run) []verdict {
	valid := 0
	for _, l := range run.Launches {
		if len(l.Invalid) == 0 {
			valid++
		}
	}
	launches := verdict{
		What: "Launches", Good: valid == len(run.Launches) && run.Status != result.Partial,
		Text: fmt.Sprintf("%d of %s valid", valid, english.Plural(len(run.Launches), "launch is", "launches are")),
	}
	switch {
	case valid < len(run.Launches):
		launches.Text += "; no figure is taken from the others, which are listed below the tables."
	case run.Status == result.Partial:
		launches.Text += ", but the run was interrupted."
	default:
		launches.Text += ": no failed call, no wrong answer in the sample."
	}
	all := []verdict{
		{What: "Equality", Good: run.Gate.Vectors > 0, Text: sentence(Equality(run.Gate), "Equality")},
		launches,
		noiseVerdict(run),
	}
	if l := busiest(run); l != nil {
		all = append(all, verdict{
			What: "Load generator", Good: l.Generator.Share <= stats.MaxGeneratorShare,
			Text: sentence(generator(run), "Load generator") + fmt.Sprintf(" At most %s is wanted.", percent(stats.MaxGeneratorShare)),
		})
	}
	if u := run.Upstream; u != nil {
		all = append(all, verdict{
			What: "Upstream", Good: u.CapacityPerSecond >= stats.MinUpstreamHeadroom*u.AskedPerSecond,
			Text: fmt.Sprintf("%s At least %g times are wanted.", sentence(Upstream(*u), "Upstream"), stats.MinUpstreamHeadroom),
		})
	}
	return append(all, verdict{
		What: "Time", Good: run.LoadShare >= minLoadShare,
		Text: sentence(share(run), "Time") + fmt.Sprintf(" At least %s is wanted.", percent(minLoadShare)),
	})
}

// noiseVerdict says whether the noise floor is known and low enough.
func noiseVerdict(run *result.Run) verdict {
	v := verdict{What: "Noise floor", Text: sentence(noise(run), "Noise floor")}
	if floor := run.Floor("iterations_per_second"); floor != nil { // which every workload has
		v.Good = *floor <= maxFloor
		v.Text += fmt.Sprintf(" At most %s in iterations/s is wanted.", percent(maxFloor))
	}
	return v
}

// sentence is a line without the word that it begins with, which says what it is about.
func sentence(line, about string) string {
	text := []rune(strings.TrimPrefix(line, about+": "))
	text[0] = unicode.ToUpper(text[0])
	return string(text)
}

// launchTable lists all launches in the order in which they were made.
func launchTable(run *result.Run) grid {
	g := grid{
		Title: "All launches, in the order in which they were made", Names: 3, Remarks: true,
		Head: []string{"launch", "workload", "server", "calls/s", "ready s", "warm-up s", "drift", "generator CPU", "other CPU", "stolen CPU", "verdict"},
	}
	var rows []row
	for _, l := range run.Launches {
		r := row{Void: len(l.Invalid) > 0, Cells: []cell{{Value: fmt.Sprint(l.Number)}, {Value: l.Workload}, {Value: l.Subject}}}
		rate, ready, warm, drift := noFigure, noFigure, noFigure, noFigure
		if l.Window != nil {
			rate = significant(float64(l.Counts.OK) / l.Window.Seconds())
		}
		if l.ReadySeconds > 0 {
			ready = significant(l.ReadySeconds)
		}
		if l.Warmup != nil {
			warm, drift = significant(l.Warmup.Seconds)+" "+l.Warmup.Class, percent(l.Warmup.Drift)
		}
		verdict := "valid"
		switch {
		case len(l.Invalid) > 0:
			verdict = "invalid: " + strings.Join(l.Invalid, "; ")
		case l.Again:
			verdict = "valid, for the noise floor only"
		}
		for _, text := range []string{rate, ready, warm, drift, percent(l.Generator.Share), percent(l.Machine.Other), percent(l.Machine.Stolen), verdict} {
			r.Cells = append(r.Cells, cell{Value: text})
		}
		rows = append(rows, r)
	}
	g.Groups = []group{{Rows: rows}}
	return g
}

// environmentTable lists what is known of the machine and of the software.
func environmentTable(run *result.Run) grid {
	e, b := run.Environment, run.Budget
	limit, cgroup, swap := "none", "none", "none"
	if b.MemoryBytes > 0 {
		limit = humanize.IBytes(uint64(b.MemoryBytes))
	}
	if e.Cgroup > 0 {
		cgroup = fmt.Sprintf("v%d", e.Cgroup)
	}
	if e.SwapBytes > 0 {
		swap = humanize.IBytes(e.SwapBytes)
	}
	engine := e.Backend
	if e.Engine != "" {
		engine += " " + e.Engine
	}
	var rows []row
	for _, fact := range [][2]string{
		{"CPU", fmt.Sprintf("%s, %s, %s", e.CPUModel, english.Plural(e.CPUs, "logical CPU", ""), e.Arch)}, {"frequency governor", e.Governor},
		{"memory", humanize.IBytes(e.MemoryBytes)}, {"swap", swap}, {"system", e.OS + " " + e.Kernel}, {"virtual machine", e.Virtualization},
		{"control groups", cgroup}, {"load average before", number(e.LoadBefore)}, {"backend", engine},
		{"server's CPUs", list(b.ServerCPUs)}, {"load generator's CPUs", list(b.GeneratorCPUs)}, {"server's memory limit", limit},
		{"Go", e.Go}, {"k6", e.K6}, {"commit", strings.TrimPrefix(commit(e), " at commit ")},
	} {
		if fact[1] == "" {
			fact[1] = "not known"
		}
		rows = append(rows, row{Cells: []cell{{Value: fact[0]}, {Value: fact[1]}}})
	}
	return grid{Title: "Machine, budget and software", Names: 2, Head: []string{"what", "value"}, Groups: []group{{Rows: rows}}}
}

// serverTable lists the servers as they ran.
func serverTable(run *result.Run) grid {
	var rows []row
	images := slices.ContainsFunc(run.Subjects, func(s result.Subject) bool { return s.Image != "" })
	head := []string{"server", "title", "runtime", "SDK"}
	if images {
		head = append(head, "image")
	}
	for _, s := range run.Subjects {
		r := row{Cells: []cell{{Value: s.ID}, {Value: s.Title}, {Value: s.Language.Name + " " + runtimes(run, s)}, {Value: s.SDK.Name + " " + s.SDK.Version}}}
		if images {
			r.Cells = append(r.Cells, cell{Value: s.Image})
		}
		rows = append(rows, r)
	}
	return grid{Title: "Servers, with the versions that ran", Names: len(head), Head: head, Groups: []group{{Rows: rows}}}
}

// Heads are the heads of the columns of an HTML table, in which the name of a group has a row of its own.
func (g grid) Heads() []string {
	heads := slices.Clone(g.Head)
	if g.Grouped() {
		heads = heads[1:]
	}
	for i, head := range heads {
		if utf8.RuneCountInString(head) < len("× reference") { // a name and its unit stay together
			heads[i] = strings.ReplaceAll(head, " ", "\u00a0")
		}
	}
	return heads
}

// Grouped reports whether groups have names.
func (g grid) Grouped() bool { return len(g.Groups) > 0 && g.Groups[0].Name != "" }

// Left reports whether a column of an HTML table has text, which begins at its left.
func (g grid) Left(column int) bool {
	names := g.Names
	if g.Grouped() {
		names--
	}
	return column < names || g.Remarks && column == len(g.Heads())-1
}
