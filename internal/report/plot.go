package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A plot is 600 units wide; the page scales it. Beside and below the field there is room for labels.
const (
	plotWidth   = 600.0
	fieldLeft   = 64.0
	fieldTop    = 14.0
	fieldFoot   = 50.0 // below the field
	labelHeight = 17.0
	labelGap    = 14.0 // between the field and the labels
	// letterWidth is what a wide letter takes; which font a reader has is not known.
	letterWidth = 10.0
	// The numbers of colours and of dashes in page.css. They have no common divisor, so 30 subjects differ in one of the two.
	colours = 6
	dashes  = 5
)

// plot is a picture of lines, ready to be drawn: all places are in units of the SVG.
type plot struct {
	// ID is unique in the page; Title and Description are for those who do not see the picture.
	ID, Title, Description   string
	Width, Height            float64
	Left, Right, Top, Bottom float64
	XLabel, YLabel           string
	X, Y                     []tick
	// Window is where calls were counted; nil if X is not time.
	Window *span
	Lines  []line
	// Labels name the subjects, beside the field.
	Labels []label
	// Limit is a value that must not be exceeded; nil if there is none.
	Limit *tick
	Spots []spot
	// Zoom is what a script draws the plot from when a reader wants to see more of it; nil where there is no more to see.
	Zoom *zoom
}

type tick struct {
	At    float64
	Label string
}

type span struct{ From, To float64 }

// Tall reports whether the plot has the height of two.
func (p plot) Tall() bool { return p.Height >= tall }

// spot is a point that matters by itself.
type spot struct {
	// Kind is the template's name for how it looks.
	Kind, Name string
	Colour     int
	X, Y       float64
}

// line is one launch. It is tied to the label of its subject from its end, at LabelY.
type line struct {
	Name, Path   string
	Colour, Dash int
	EndX, EndY   float64
	LabelY       float64
}

type label struct {
	Text string
	X, Y float64
}

// series is what a line shows. Style numbers the subject, so that it looks the same in all plots of the page.
type series struct {
	Name, Subject string
	Style         int
	Points        []point
	// Spots are drawn over the line.
	Spots []namedPoint
}

type namedPoint struct {
	point
	Kind, Name string
}

type point struct{ X, Y float64 }

// axis is a range of values and how it is labelled.
type axis struct {
	Label    string
	Min, Max float64
	Log      bool
	// Ticks are values and their labels.
	Ticks []mark
}

type mark struct {
	Value float64
	Label string
}

// draw lays the series out; those of a subject follow each other.
func draw(height float64, x, y axis, lines []series) plot {
	longest := 0
	for _, s := range lines {
		longest = max(longest, utf8.RuneCountInString(s.Subject))
	}
	p := plot{
		Width: plotWidth, Height: height,
		Left: fieldLeft, Right: plotWidth - labelGap - letterWidth*float64(longest), Top: fieldTop, Bottom: height - fieldFoot,
		XLabel: x.Label, YLabel: y.Label,
	}
	atX := func(value float64) float64 { return x.place(value, p.Left, p.Right) }
	atY := func(value float64) float64 { return y.place(value, p.Bottom, p.Top) }
	for _, m := range x.Ticks {
		p.X = append(p.X, tick{atX(m.Value), m.Label})
	}
	for _, m := range y.Ticks {
		p.Y = append(p.Y, tick{atY(m.Value), m.Label})
	}
	for _, s := range lines {
		var path strings.Builder
		command := "M"
		for _, q := range s.Points {
			if math.IsNaN(q.Y) { // nothing is known here
				command = "M"
				continue
			}
			fmt.Fprintf(&path, "%s%s %s", command, number(atX(q.X)), number(atY(q.Y)))
			command = "L"
		}
		end := s.Points[len(s.Points)-1]
		p.Lines = append(p.Lines, line{
			Name: s.Name, Path: path.String(), Colour: s.Style % colours, Dash: s.Style % dashes, EndX: atX(end.X), EndY: atY(end.Y),
		})
		for _, q := range s.Spots {
			p.Spots = append(p.Spots, spot{Kind: q.Kind, Name: q.Name, Colour: s.Style % colours, X: atX(q.X), Y: atY(q.Y)})
		}
	}
	p.Labels = labels(lines, p)
	for i, s := range lines {
		at := slices.IndexFunc(p.Labels, func(l label) bool { return l.Text == s.Subject })
		p.Lines[i].LabelY = p.Labels[at].Y
	}
	return p
}

// labels places the name of each subject: as near to the ends of its lines as the other names let it.
func labels(lines []series, p plot) []label {
	var all []label
	for i := 0; i < len(lines); {
		l := label{Text: lines[i].Subject, X: p.Right + labelGap}
		first := i
		for ; i < len(lines) && lines[i].Subject == l.Text; i++ {
			l.Y += p.Lines[i].EndY
		}
		l.Y /= float64(i - first)
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b label) int { return cmp.Compare(a.Y, b.Y) })
	gap := min(labelHeight, (p.Bottom-p.Top)/float64(max(1, len(all)-1)))
	least := p.Top
	for i := range all { // downwards, off the label above
		all[i].Y = max(all[i].Y, least)
		least = all[i].Y + gap
	}
	most := p.Bottom
	for i := len(all) - 1; i >= 0; i-- { // and upwards again, where that went below the field
		all[i].Y = tenths(min(all[i].Y, most))
		most = all[i].Y - gap
	}
	return all
}

// place maps a value to a place between from and to.
func (a axis) place(value, from, to float64) float64 {
	low, high := a.Min, a.Max
	if a.Log {
		value, low, high = math.Log(value), math.Log(low), math.Log(high)
	}
	return tenths(from + (value-low)/(high-low)*(to-from))
}

// logAxis spans positive values, from one of 1, 2, 5, 10, … to another.
func logAxis(label string, least, most float64) axis {
	a := axis{Label: label, Log: true}
	for decade := math.Floor(math.Log10(least)); ; decade++ {
		for _, digit := range []float64{1, 2, 5} {
			value := digit * math.Pow(10, decade)
			if value <= least {
				a.Ticks = nil // the axis begins with the last of these
			}
			a.Ticks = append(a.Ticks, mark{value, number(value)})
			if value >= most && len(a.Ticks) > 1 {
				a.Min, a.Max = a.Ticks[0].Value, value
				return a
			}
		}
	}
}

// linearAxis spans least to most, with round numbers as ticks.
func linearAxis(label string, least, most float64) axis {
	const ticks = 6
	if most <= least {
		most = least + 1
	}
	step := math.Pow(10, math.Floor(math.Log10((most-least)/ticks)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (most-least)/(factor*step) <= ticks {
			step *= factor
			break
		}
	}
	a := axis{Label: label, Min: least, Max: most}
	for i := math.Ceil(least / step); i*step <= most; i++ {
		a.Ticks = append(a.Ticks, mark{i * step, number(i * step)})
	}
	return a
}

// tenths rounds a place to a tenth of a unit, which is finer than a screen shows.
func tenths(x float64) float64 { return math.Round(10*x) / 10 }
