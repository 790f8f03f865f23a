package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	escaped "html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

func html(t *testing.T, run *result.Run, dir string) string {
	t.Helper()
	page, err := report.HTML(run, dir)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

var (
	once    sync.Once
	onceRun *result.Run
	onceOf  string
)

// measuredPage returns a measured run, which must not be changed, and its page. They are made once, because it takes seconds.
func measuredPage(t *testing.T) (run *result.Run, page string) {
	t.Helper()
	once.Do(func() {
		run, dir := measured(t)
		onceRun, onceOf = run, html(t, run, dir)
	})
	if onceOf == "" {
		t.Fatal("the page could not be made")
	}
	return onceRun, onceOf
}

// TestHTML has no launches to draw: see TestInBrowser for a page with plots.
func TestHTML(t *testing.T) {
	run := beside()
	run.Launches = nil
	golden(t, "testdata/beside.html", html(t, run, t.TempDir()))
}

// scripts are the elements of that name, with what is in them.
var scripts = regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`)

// element is one element of a page; the text is that of its descendants too.
type element struct {
	name       string
	attributes map[string]string
	text       string
	within     []*element
}

// parse reads the page, without its scripts, as XML, which is stricter than HTML, and returns its elements in the order of their starts.
func parse(t *testing.T, page string) []*element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(scripts.ReplaceAllString(page, "")))
	var all, open []*element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attributes: map[string]string{}, within: slices.Clone(open)}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, e := range open {
				e.text += string(token)
			}
		}
	}
}

func find(all []*element, name string, within *element) []*element {
	var found []*element
	for _, e := range all {
		if e.name == name && (within == nil || slices.Contains(e.within, within)) {
			found = append(found, e)
		}
	}
	return found
}

// TestPageFetchesNothing checks all places from which HTML and CSS make a browser ask for something, and that only the script of the
// package may run.
func TestPageFetchesNothing(t *testing.T) {
	_, page := measuredPage(t)
	fetching := []string{"script", "link", "img", "image", "iframe", "object", "embed", "audio", "video", "source", "use", "base", "form", "a"}
	for _, e := range parse(t, page) {
		if slices.Contains(fetching, e.name) {
			t.Errorf("the page has an element %s", e.name)
		}
		for name, value := range e.attributes {
			if slices.Contains([]string{"src", "srcset", "href", "data", "action", "poster", "background", "style"}, name) || strings.HasPrefix(name, "on") {
				t.Errorf("%s has the attribute %s=%q", e.name, name, value)
			}
			if name != "xmlns" && strings.Contains(value, "//") {
				t.Errorf("%s %s=%q names an address", e.name, name, value)
			}
		}
		if e.name == "style" && regexp.MustCompile(`url\(|@import|@font-face|image-set`).MatchString(e.text) {
			t.Error("the style sheet fetches something")
		}
	}
	policy := regexp.MustCompile(`default-src 'none'; style-src 'unsafe-inline'; script-src '(sha256-[^']+)'"`).FindStringSubmatch(page)
	if policy == nil {
		t.Fatal("the page does not forbid browsers to fetch anything and to run any script but one")
	}
	running := 0
	for _, script := range scripts.FindAllStringSubmatch(page, -1) {
		switch script[1] {
		case ` type="application/json"`:
			if !json.Valid([]byte(script[2])) {
				t.Errorf("%.40q is not JSON", script[2])
			}
		case "":
			running++
			if sum := sha256.Sum256([]byte(script[2])); "sha256-"+base64.StdEncoding.EncodeToString(sum[:]) != escaped.UnescapeString(policy[1]) {
				t.Error("the page forbids its own script")
			}
			if !strings.Contains(script[2], "Permission is hereby granted, free of charge") {
				t.Error("the licence of uPlot is not with it")
			}
		default:
			t.Errorf("there is a script%s", script[1])
		}
	}
	if running != 1 {
		t.Errorf("the page has %d scripts, wanted 1", running)
	}
	run := beside()
	run.Launches = nil
	if page := html(t, run, t.TempDir()); strings.Contains(page, "<script") || strings.Contains(page, "uplot") {
		t.Error("a page without timelines has the script")
	}
}

func TestPlotsAreDescribed(t *testing.T) {
	run, page := measuredPage(t)
	all := parse(t, page)
	ids := map[string]*element{}
	for _, e := range all {
		if id := e.attributes["id"]; id != "" {
			if ids[id] != nil {
				t.Errorf("two elements have the id %s", id)
			}
			ids[id] = e
		}
	}
	plots := find(all, "svg", nil)
	if want := 5*len(run.Experiment.Workloads) + 1; len(plots) != want { // one more for the search
		t.Errorf("got %d plots, wanted %d", len(plots), want)
	}
	drawn := 0
	for _, l := range run.Launches {
		if len(l.Invalid) == 0 && !l.Again {
			drawn += 5
			if len(l.Search) > 0 {
				drawn++
			}
		}
	}
	names := 0
	for _, plot := range plots {
		for _, id := range strings.Fields(plot.attributes["aria-labelledby"]) {
			if e := ids[id]; e == nil || !slices.Contains(e.within, plot) || strings.TrimSpace(e.text) == "" {
				t.Errorf("a plot is labelled by %s, which is no text in it", id)
			}
		}
		for _, title := range find(all, "title", plot) {
			if regexp.MustCompile(`^(go|java|python/stateful)( #[1-6])?$`).MatchString(title.text) {
				names++
			}
		}
	}
	if names != drawn {
		t.Errorf("%d lines are named, wanted %d", names, drawn)
	}
}

// TestSearchIsDrawn looks for every rate that was tried.
func TestSearchIsDrawn(t *testing.T) {
	run, page := measuredPage(t)
	tried := 0
	for _, l := range run.Launches {
		tried += len(l.Search)
	}
	if n := strings.Count(page, `class="spot `); n != tried || n == 0 {
		t.Errorf("%d rates are drawn, wanted the %d that were tried", n, tried)
	}
	searches := strings.Count(page, "met, and confirmed</title>")
	if searches != 3 {
		t.Errorf("%d rates are confirmed, wanted one of each server", searches)
	}
	if !strings.Contains(page, ">p99 ≤ 50 ms</text>") {
		t.Error("the objective is not drawn")
	}
}

// TestAllCells checks the table of a run of four servers and five workloads: every figure stands in its row and column.
func TestAllCells(t *testing.T) {
	run := example()
	run.Launches, run.Cells, run.Experiment.Workloads = nil, nil, nil
	run.Experiment.Subjects = []string{"go", "node", "python", "java"}
	for i := range 5 {
		w := example().Experiment.Workloads[0]
		w.Name, w.Subjects, w.Reference = fmt.Sprintf("workload_%d", i), run.Experiment.Subjects, "none of them"
		run.Experiment.Workloads = append(run.Experiment.Workloads, w)
		for j, subject := range run.Experiment.Subjects {
			x := float64(100*i + 10*j + 101)
			run.Cells = append(run.Cells, result.Cell{Workload: w.Name, Subject: subject, Launches: 3, Valid: 2, Figures: &result.Figures{
				CallsPerSecond: exact(x), Ratio: &result.Ratio{Value: x + 1}, P50MS: exact(x + 2), P95MS: exact(x + 3), P99MS: exact(x + 4),
				CPUSecondsPer1000: exact(x + 5), MemoryIdle: exact((x + 6) * mib), MemoryPeak: exact((x + 7) * mib),
			}})
		}
	}
	all := parse(t, html(t, run, t.TempDir()))
	var got, want []string
	for _, body := range find(all, "tbody", find(all, "table", nil)[0]) {
		workload := ""
		for _, row := range find(all, "tr", body) {
			var cells []string
			for _, e := range all {
				if slices.Contains(e.within, row) {
					cells = append(cells, e.text)
				}
			}
			if len(cells) == 1 {
				workload = cells[0]
				continue
			}
			got = append(got, workload+" "+strings.Join(cells, " "))
		}
	}
	for _, c := range run.Cells {
		text := c.Workload + " " + c.Subject
		for i := range 8 {
			text += fmt.Sprintf(" %d", int(c.Figures.CallsPerSecond.Value)+i)
		}
		want = append(want, text+" 2/3 0")
	}
	if len(want) != 20 || !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestVerdicts(t *testing.T) {
	measured, dir := measured(t)
	measured.Launches[0].Again = true
	page := html(t, measured, dir)
	for _, want := range []string{"✓ Equality: good", "✗ Launches: in doubt", "32 of 33 launches are valid; no figure", "valid, for the noise floor only", "✓ Noise floor: good", "✓ Load generator: good",
		"✓ Time: good", "python/stateful under mixed: the server did not start: it exited with 2.", "had local changes", "--scale 0.5 --backend docker --seed 7",
		"&lt;script&gt;alert("} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	run := example()
	run.Gate, run.Noise, run.LoadShare, run.Environment.Dirty = result.Gate{}, nil, 0.5, false
	run.Upstream.CapacityPerSecond = run.Upstream.AskedPerSecond
	for i := range run.Launches {
		run.Launches[i].Invalid = []string{"a test"}
	}
	page = html(t, run, t.TempDir()) // of invalid launches nothing is read
	for _, want := range []string{"✗ Equality: in doubt", "0 of 3", "✗ Upstream: in doubt", "✗ Noise floor: in doubt", "✗ Time: in doubt",
		"INTERRUPTED: 3 of 62 launches.", "No launch is valid, so there is nothing to draw."} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	run.Noise = []result.Noise{{Figure: "iterations_per_second", Repeats: 4, Floor: 0.51}}
	if page = html(t, run, t.TempDir()); !strings.Contains(page, "✗ Noise floor: in doubt") {
		t.Error("a noise floor of 51 % is good")
	}
	for _, no := range []string{"had local changes", "<svg", "Load generator: good"} {
		if strings.Contains(page, no) {
			t.Errorf("%q is in the page", no)
		}
	}
}

// TestDamagedRun checks that what cannot be drawn is said, with the launch.
func TestDamagedRun(t *testing.T) {
	run, dir := measured(t)
	run.Experiment.Workloads = run.Experiment.Workloads[1:2]
	run.Launches = slices.DeleteFunc(run.Launches, func(l result.Launch) bool { return l.Workload != "mixed" || l.Subject != "go" || l.Again })
	html(t, run, dir)
	first, second := run.Launches[0], run.Launches[1]
	path := func(of ...string) string { return filepath.Join(append([]string{dir}, of...)...) }
	histogram := func(l result.Launch) string {
		i := slices.IndexFunc(l.Operations, result.Operation.IsCall)
		return path(l.Operations[i].Histogram)
	}
	for _, test := range []struct {
		name, file string
		content    func() ([]byte, error) // nil: there is none
		want       string
	}{
		{"no histogram", histogram(first), nil, "no such file"},
		{"another launch's histogram", histogram(first), func() ([]byte, error) { return os.ReadFile(histogram(second)) }, "the histograms hold"},
		{"no readings", path(first.Folder, stats.UsageFile), nil, "no such file"},
		{"readings of another time", path(first.Folder, stats.UsageFile), func() ([]byte, error) { return os.ReadFile(path(second.Folder, stats.UsageFile)) },
			"were not read before the window ended"},
		{"no summary", path(first.Folder, stats.SummaryFile), nil, "k6's summary"},
	} {
		good, err := os.ReadFile(test.file)
		if err != nil {
			t.Fatal(err)
		}
		if test.content == nil {
			err = os.Remove(test.file)
		} else {
			var content []byte
			if content, err = test.content(); err == nil {
				err = os.WriteFile(test.file, content, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("launch %d: ", first.Number)
		if _, err := report.HTML(run, dir); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, wanted %q and %q in it", test.name, err, want, test.want)
		}
		write(t, test.file, good)
	}
	run.Launches[0].Window = nil
	if _, err := report.HTML(run, dir); err == nil || !strings.Contains(err.Error(), "it is not valid: no successful call in the window") {
		t.Errorf("got %v, wanted that the launch is not valid", err)
	}
}

// TestTablesOfAPageAndOfMarkdown checks that a page has all figures of the Markdown's tables.
func TestTablesOfAPageAndOfMarkdown(t *testing.T) {
	run, page := measuredPage(t)
	page = strings.ReplaceAll(page, "\u00a0", " ")
	// Where there is room, an interval stands below its figure.
	pages := strings.NewReplacer("<small>", "", "</small>", "").Replace(page) + regexp.MustCompile(` <small>.*?</small>`).ReplaceAllString(page, "")
	for line := range strings.Lines(report.Markdown(run)) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for cell := range strings.SplitSeq(line, "|") {
			cell = strings.Trim(strings.TrimSpace(cell), "*")
			if cell == "" || strings.HasPrefix(cell, "--") || cell == "workload" || strings.Contains(cell, "× ") || strings.HasSuffix(cell, " ms") {
				continue
			}
			if !strings.Contains(pages, ">"+cell+"<") {
				t.Errorf("%q is not in the page", cell)
			}
		}
	}
}
