package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

func tickLabels(a axis) string {
	var all []string
	for _, m := range a.Ticks {
		all = append(all, m.Label)
	}
	return fmt.Sprintf("%s..%s: %s", number(a.Min), number(a.Max), strings.Join(all, " "))
}

func TestAxes(t *testing.T) {
	for _, test := range []struct {
		got  axis
		want string
	}{
		{logAxis("", 0.27, 39), "0.2..50: 0.2 0.5 1 2 5 10 20 50"},
		{logAxis("", 1, 10), "1..10: 1 2 5 10"},
		{logAxis("", 3, 3), "2..5: 2 5"},
		{logAxis("", 5, 5), "5..10: 5 10"},
		{linearAxis("", -2.1, 9), "-2.1..9: -2 0 2 4 6 8"},
		{linearAxis("", -0.3, 9), "-0.3..9: 0 2 4 6 8"},
		{linearAxis("", 0, 1.05), "0..1.05: 0 0.2 0.4 0.6 0.8 1"},
		{linearAxis("", 0, 170), "0..170: 0 50 100 150"},
		{linearAxis("", 0, 0), "0..1: 0 0.2 0.4 0.6 0.8 1"},
	} {
		if got := tickLabels(test.got); got != test.want {
			t.Errorf("got  %s\nwanted %s", got, test.want)
		}
	}
}

func TestLabels(t *testing.T) {
	var lines []series
	for _, end := range []struct {
		subject string
		y       float64
	}{{"a", 1}, {"b", 1}, {"b", 0.9}, {"c", 0.95}, {"d", 0}, {"e", 0}} {
		lines = append(lines, series{Subject: end.subject, Points: []point{{0, 0.5}, {1, end.y}}})
	}
	p := draw(250, linearAxis("x", 0, 1), linearAxis("y", 0, 1), lines)
	if len(p.Labels) != 5 || len(p.Lines) != 6 {
		t.Fatalf("got %d labels of %d lines, wanted 5 of 6", len(p.Labels), len(p.Lines))
	}
	for i, l := range p.Labels {
		if l.Y < p.Top || l.Y > p.Bottom {
			t.Errorf("%s is at %v, outside %v to %v", l.Text, l.Y, p.Top, p.Bottom)
		}
		if i > 0 && l.Y-p.Labels[i-1].Y < labelHeight-0.11 {
			t.Errorf("%s is at %v, over %s at %v", l.Text, l.Y, p.Labels[i-1].Text, p.Labels[i-1].Y)
		}
	}
	if p.Lines[1].LabelY != p.Lines[2].LabelY || p.Lines[0].LabelY == p.Lines[1].LabelY {
		t.Errorf("lines are tied to labels at %v, wanted one of each subject", p.Lines)
	}
	if p.Lines[0].EndX != p.Right || p.Lines[0].EndY != p.Top || p.Lines[4].EndY != p.Bottom {
		t.Errorf("lines do not end at the edges of the field: %+v", p.Lines)
	}
}

// TestQuantiles draws 10,000 calls of 0.01 ms, 0.02 ms, …, 100 ms and looks where the line is.
func TestQuantiles(t *testing.T) {
	const n = 10_000
	h := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	for i := range int64(n) {
		if err := h.RecordValue(10 * (i + 1)); err != nil {
			t.Fatal(err)
		}
	}
	p := quantiles("w", []trace{{name: "go", launch: result.Launch{Subject: "go"}, latency: h}})
	var points []point
	for _, text := range strings.Split(strings.TrimPrefix(p.Lines[0].Path, "M"), "L") {
		var q point
		if _, err := fmt.Sscan(text, &q.X, &q.Y); err != nil {
			t.Fatal(err)
		}
		points = append(points, q)
	}
	if !slices.IsSortedFunc(points, func(a, b point) int { return cmp.Compare(a.X, b.X) }) {
		t.Error("the line runs backwards")
	}
	at := func(label string, ticks []tick) float64 {
		i := slices.IndexFunc(ticks, func(k tick) bool { return k.Label == label })
		if i < 0 {
			t.Fatalf("no tick %s", label)
		}
		return ticks[i].At
	}
	// As 1/(1-q) is 2 at the median and 10,000 at the end, so are the distances to the left edge log 2 to log 10,000.
	if got, want := (at("50", p.X)-p.Left)/(p.Right-p.Left), math.Log(2)/math.Log(n); math.Abs(got-want) > 0.001 {
		t.Errorf("the median is at %.3f of the width, wanted %.3f", got, want)
	}
	for _, test := range []struct{ share, milliseconds string }{{"50", "50"}, {"99.99", "100"}} {
		x, y := at(test.share, p.X), at(test.milliseconds, p.Y)
		if !slices.ContainsFunc(points, func(q point) bool { return math.Abs(q.X-x) < 2 && math.Abs(q.Y-y) < 2 }) {
			t.Errorf("the line does not pass %s %% at %s ms", test.share, test.milliseconds)
		}
	}
	if want := "go: 50 % of calls within 50.0 ms, 99 % within 99.0 ms, the slowest took 100 ms."; p.Description != want {
		t.Errorf("got %q, wanted %q", p.Description, want)
	}
}

// TestSecondsWithoutCalls draws a server that answered nothing in the third second of its window.
func TestSecondsWithoutCalls(t *testing.T) {
	begin := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	at := func(second int) time.Time { return begin.Add(time.Duration(second) * time.Second) }
	cpu := 1.0
	stalled := trace{name: "go", launch: result.Launch{
		Subject: "go", Warmup: &result.Warmup{Seconds: 2}, Window: &result.Window{Start: at(2), End: at(6)}, Server: result.Server{CPUSeconds: &cpu},
	}, usage: []stats.Sample{{At: at(-1)}}}
	for _, second := range []int{0, 1, 2, 3, 5, 6} { // 0 had begun before the first call, 6 is beyond the window
		stalled.seconds = append(stalled.seconds, stats.Second{At: at(second), Calls: int64(100 + second), P99MS: 10})
	}
	var got [2]string
	w := experiment.Workload{Name: "w", Calls: []experiment.Call{{Method: experiment.MethodListTools}}}
	rate, slow := callsPerSecond(w, []trace{stalled}), slowPerSecond(w, []trace{stalled})
	for i, p := range []plot{rate, slow} {
		text, err := json.Marshal(p.Zoom)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = string(text)
	}
	want := [2]string{
		`{"seconds":[-0.5,0.5,1.5,2.5,3.5],"lines":[{"name":"go","values":[101,102,103,0,105]}],"label":"calls/s","log":false,"window":4}`,
		`{"seconds":[-0.5,0.5,1.5,2.5,3.5],"lines":[{"name":"go","values":[10,10,10,null,10]}],"label":"p99, ms","log":true,"window":4}`,
	}
	if got != want {
		t.Errorf("got\n%s\nwanted\n%s", strings.Join(got[:], "\n"), strings.Join(want[:], "\n"))
	}
	if n := strings.Count(slow.Lines[0].Path, "M"); n != 2 {
		t.Errorf("the line of p99 has %d parts, wanted one on each side of the gap: %s", n, slow.Lines[0].Path)
	}
	if from := slow.Window.From; from <= slow.Left || slow.Window.To != slow.Right {
		t.Errorf("the window is drawn from %v to %v in a field from %v to %v", from, slow.Window.To, slow.Left, slow.Right)
	}
}
