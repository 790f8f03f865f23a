package report_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
	"github.com/mcp-parity/mcp-parity/internal/verify/verifytest"
)

// small returns a run that was made by hand, and its folder.
func small(t *testing.T) (*result.Run, string) {
	t.Helper()
	dir := verifytest.Run(t)
	run, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	run.ID = "2026-10-01-tiny-0a1b2c" // a part of it is random
	run.Environment.Commit, run.Environment.Dirty = strings.Repeat("79c6eda0", 5), true
	run.Notes = []string{report.ProofNote + " to 7 vectors.", `<script>alert("&")</script>`}
	return run, dir
}

func html(t *testing.T, run *result.Run, dir string) string {
	t.Helper()
	page, err := report.HTML(run, dir)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestHTML(t *testing.T) {
	run, dir := small(t)
	golden(t, "testdata/small.html", html(t, run, dir))
}

// element is one element of a page; the text is that of its descendants too.
type element struct {
	name       string
	attributes map[string]string
	text       string
	within     []*element
}

// parse reads the page as XML, which is stricter than HTML, and returns its elements in the order of their starts.
func parse(t *testing.T, page string) []*element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
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

// TestPageFetchesNothing checks all places from which HTML and CSS make a browser ask for something.
func TestPageFetchesNothing(t *testing.T) {
	run, dir := small(t)
	page := html(t, run, dir)
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
	if !strings.Contains(page, `default-src 'none'`) {
		t.Error("the page does not forbid browsers to fetch anything")
	}
}

func TestPlotsAreDescribed(t *testing.T) {
	run, dir := small(t)
	all := parse(t, html(t, run, dir))
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
	if len(plots) != 6 { // three of each workload
		t.Errorf("got %d plots, wanted 6", len(plots))
	}
	valid := 0
	for _, l := range run.Launches {
		if len(l.Invalid) == 0 {
			valid++
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
			if regexp.MustCompile(`^(go|node) #[12]$`).MatchString(title.text) {
				names++
			}
		}
	}
	if names != 3*valid {
		t.Errorf("%d lines are named, wanted %d: three of each valid launch", names, 3*valid)
	}
}

// TestAllCells checks the table of a run as large as that of the first experiment: every figure stands in its row and column.
func TestAllCells(t *testing.T) {
	run := example()
	run.Launches, run.Cells = nil, nil
	run.Experiment.Subjects = []string{"go", "node", "python", "java"}
	for i := range 5 {
		w := experiment.Workload{Name: fmt.Sprintf("workload_%d", i), Method: experiment.MethodListTools}
		run.Experiment.Workloads = append(run.Experiment.Workloads, w)
		for j, subject := range run.Experiment.Subjects {
			x := float64(100*i + 10*j + 101)
			run.Cells = append(run.Cells, result.Cell{Workload: w.Name, Subject: subject, Figures: &result.Figures{
				CallsPerSecond: x, Ratio: pointer(x + 1), P50MS: x + 2, P95MS: x + 3, P99MS: x + 4, CPUSecondsPer1000: x + 5,
				MemoryIdleBytes: int64(x+6) << 20, MemoryPeakBytes: int64(x+7) << 20,
			}})
		}
	}
	all := parse(t, html(t, run, t.TempDir()))
	var got, want []string
	for _, body := range find(all, "tbody", nil) {
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
			text += fmt.Sprintf(" %d", int(c.Figures.CallsPerSecond)+i)
		}
		want = append(want, text+" 0")
	}
	if len(want) != 20 || !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestVerdicts(t *testing.T) {
	run, dir := small(t)
	run.Upstream.CapacityPerSecond = 12_345
	page := html(t, run, dir)
	for _, want := range []string{"✓ Equality: good", "✗ Launches: in doubt", "7 of 8 launches are valid; no figure", "✓ Headroom: good",
		"Launch 8, node under fetch: the server did not start: it exited with 2.", "had local changes"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	run.Notes, run.Upstream.CapacityPerSecond = nil, run.Upstream.AskedPerSecond
	run.Environment.Dirty = false
	for i := range run.Launches {
		run.Launches[i].Invalid = []string{"a test"}
	}
	page = html(t, run, t.TempDir()) // of invalid launches nothing is read
	for _, want := range []string{"✗ Equality: in doubt", "0 of 8", "✗ Headroom: in doubt", "No launch is valid, so there is nothing to draw."} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	for _, no := range []string{"had local changes", "<svg"} {
		if strings.Contains(page, no) {
			t.Errorf("%q is in the page", no)
		}
	}
}

// TestDamagedRun checks that what cannot be drawn is said, with the launch.
func TestDamagedRun(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(run *result.Run, dir string) error
		want   string
	}{
		{"no histogram", func(run *result.Run, dir string) error {
			return os.Remove(filepath.Join(dir, run.Launches[0].Histogram))
		},
			"launch 1: read the histogram measure.hlog: no such file"},
		{"another histogram", func(run *result.Run, _ string) error {
			run.Launches[0].Histogram = run.Launches[1].Histogram
			return nil
		}, "launch 1: the histogram holds 980 calls, but 990 were counted"},
		{"no readings", func(run *result.Run, dir string) error {
			return os.Remove(filepath.Join(dir, run.Launches[0].Folder, stats.UsageFile))
		}, "launch 1: read the server's CPU time and memory: "},
		{"readings of another time", func(run *result.Run, dir string) error {
			from, err := os.ReadFile(filepath.Join(dir, run.Launches[6].Folder, stats.UsageFile))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, run.Launches[0].Folder, stats.UsageFile), from, 0o644))
		}, "launch 1: the server's CPU time and memory were not read before the window ended"},
		{"a launch that is not valid", func(run *result.Run, _ string) error {
			run.Launches[0].Window = nil
			return nil
		}, "launch 1 is not valid: no successful call in the window"},
	} {
		run, dir := small(t)
		if err := test.damage(run, dir); err != nil {
			t.Fatal(err)
		}
		if _, err := report.HTML(run, dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, wanted %q in it", test.name, err, test.want)
		}
	}
}
