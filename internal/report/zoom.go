package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"math"
	"slices"
)

// The script of a page with timelines: uPlot, which is under the MIT licence, and what makes charts with it. It is the only script of the
// page, and all that it adds is to zoom.
var (
	//go:embed uplot/LICENSE
	uplotLicence string
	//go:embed uplot/uPlot.iife.min.js
	uplotScript string
	//go:embed uplot/uPlot.min.css
	uplotStyle string
	//go:embed zoom.css
	zoomStyle string
	//go:embed zoom.js
	zoomScript string

	script = "/* uPlot 1.6.32\n" + uplotLicence + "\n*/\n" + uplotScript + "\n" + zoomScript
)

// scriptHash allows the script, and no other, in the page's content security policy.
func scriptHash() string {
	sum := sha256.Sum256([]byte(script))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// zoom is a plot over seconds as zoom.js reads it. Lines and labels are those of the plot.
type zoom struct {
	Seconds []float64 `json:"seconds"`
	// Lines have a value or null for each of Seconds.
	Lines []zoomLine `json:"lines"`
	Label string     `json:"label"`
	Log   bool       `json:"log"`
	// Window is the end of the longest window; all begin at 0.
	Window float64 `json:"window"`
}

type zoomLine struct {
	Name   string     `json:"name"`
	Values []*float64 `json:"values"`
}

// zoomable adds the values of the lines, all of whose points are a whole number of seconds apart.
func (p plot) zoomable(lines []series, label string, log bool, window float64) plot {
	z := &zoom{Label: label, Log: log, Window: window}
	for _, s := range lines {
		for _, q := range s.Points {
			z.Seconds = append(z.Seconds, q.X)
		}
	}
	slices.Sort(z.Seconds)
	z.Seconds = slices.Compact(z.Seconds)
	for _, s := range lines {
		l := zoomLine{Name: s.Name, Values: make([]*float64, len(z.Seconds))}
		for _, q := range s.Points {
			if math.IsNaN(q.Y) {
				continue
			}
			i, _ := slices.BinarySearch(z.Seconds, q.X)
			l.Values[i] = &q.Y
		}
		z.Lines = append(z.Lines, l)
	}
	p.Zoom = z
	return p
}
