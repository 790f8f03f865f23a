package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/published"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// comparison sets a run beside a published table.
type comparison struct {
	Published *published.Table
	// Tables are the source's two, in its columns, for each workload with a closed load: that is what sources measure with.
	Tables []grid
	// Claims are the conclusions that were measured, in the source's order.
	Claims []claim
	// Unmeasured are the texts of those for which no workload has valid launches of both servers.
	Unmeasured []string
	// Summary counts the outcomes, a sentence for each workload.
	Summary []string
}

// claim is a published conclusion and what each workload makes of it.
type claim struct {
	Text, Published string
	Measured        []string
}

// compare returns nil for a run that is not compared with anything.
func compare(run *result.Run) *comparison {
	if run.Published == nil {
		return nil
	}
	c := &comparison{Published: run.Published}
	for _, w := range run.Experiment.Workloads {
		if w.Load.Shape == experiment.ShapeClosed && len(w.Calls) > 0 {
			c.Tables = append(c.Tables, serversBeside(run, w), operationsBeside(run, w))
		}
	}
	for i, conclusion := range run.Published.Conclusions {
		said := claim{Text: conclusion.Text, Published: fmt.Sprintf("published: %s, %s over %s: %s",
			conclusionFigure(conclusion), conclusion.Server, conclusion.Against, significant(conclusion.Ratio))}
		for _, j := range run.Judgements {
			if j.Conclusion == i {
				said.Measured = append(said.Measured, fmt.Sprintf("%s: %s; measured %s", j.Workload, findingOf(conclusion, j.Outcome).said, measured(j.Measured)))
			}
		}
		if len(said.Measured) == 0 {
			c.Unmeasured = append(c.Unmeasured, conclusion.Text)
			continue
		}
		c.Claims = append(c.Claims, said)
	}
	c.Summary = summary(run)
	return c
}

// finding is what is said of an outcome: of one conclusion, and of a number of them.
type finding struct{ said, one, more string }

// differs is the finding for a claim of equality that does not hold.
var differs = finding{"does not hold, the two differ", "claims an equality that is not there", "claim an equality that is not there"}

// findings are in the order in which they are counted.
var findings = []struct {
	outcome string
	finding
}{
	{result.Holds, finding{"holds", "holds", "hold"}},
	{result.SmallerThanPublished, finding{"the difference is there, but smaller", "is smaller here", "are smaller here"}},
	{result.LargerThanPublished, finding{"the difference is there, and larger", "is larger here", "are larger here"}},
	{result.NoDifference, finding{"does not hold, the two cannot be told apart", "shows no difference", "show no difference"}},
	{result.Reversed, finding{"does not hold, it is the other way round", "is the other way round", "are the other way round"}},
	{"", differs},
}

func findingOf(c published.Conclusion, outcome string) finding {
	claimsEquality := math.Abs(math.Log(c.Ratio)) <= math.Log1p(stats.MinFloor)
	if claimsEquality && (outcome == result.SmallerThanPublished || outcome == result.LargerThanPublished) {
		return differs
	}
	for _, f := range findings {
		if f.outcome == outcome {
			return f.finding
		}
	}
	return finding{said: outcome}
}

// summary counts how many conclusions hold, by workload.
func summary(run *result.Run) []string {
	var lines []string
	for _, w := range run.Experiment.Workloads {
		total, count := 0, map[finding]int{}
		for _, j := range run.Judgements {
			if j.Workload == w.Name {
				total++
				count[findingOf(run.Published.Conclusions[j.Conclusion], j.Outcome)]++
			}
		}
		if total == 0 {
			continue
		}
		var parts []string
		for _, f := range findings {
			if n := count[f.finding]; n > 0 {
				parts = append(parts, english.Plural(n, f.one, f.more))
			}
		}
		lines = append(lines, fmt.Sprintf("Under %s, of %s %s.", w.Name, english.Plural(total, "published conclusion", ""), english.WordSeries(parts, "and")))
	}
	return lines
}

// measured writes a ratio with all that is known of it.
func measured(r result.Ratio) string {
	text := significant(r.Value)
	if r.Low != nil && r.High != nil {
		text += fmt.Sprintf(" (95 %% interval %s to %s, %s of launches)", significant(*r.Low), significant(*r.High), english.Plural(r.Pairs, "pair", ""))
	} else {
		text += fmt.Sprintf(" (%s of launches, no interval)", english.Plural(r.Pairs, "pair", ""))
	}
	return text
}

func conclusionFigure(c published.Conclusion) string {
	if of := c.Tool + c.Method; of != "" {
		return "mean latency of " + of
	}
	return map[string]string{
		published.MeanMS: "mean latency", published.RequestsPerSecond: "requests/s", published.CPUPercent: "CPU", published.MemoryMB: "mean memory",
	}[c.Figure]
}

// words lists the conclusions and what each workload makes of them.
func (c *comparison) words(bullet, below string) string {
	var out strings.Builder
	for _, line := range c.Summary {
		out.WriteString(bullet + line + "\n")
	}
	for _, said := range c.Claims {
		out.WriteString(bullet + said.Text + " (" + said.Published + ")\n")
		for _, m := range said.Measured {
			out.WriteString(below + m + "\n")
		}
	}
	if text := c.Missing(); text != "" {
		out.WriteString(bullet + text + "\n")
	}
	return out.String()
}

// Missing names the conclusions that were not measured; "" if all were.
func (c *comparison) Missing() string {
	if len(c.Unmeasured) == 0 {
		return ""
	}
	return "Not measured, as no workload has valid launches of both servers: " + strings.Join(c.Unmeasured, "; ") + "."
}

// Caveats are what must be known about the source.
func (c *comparison) Caveats() []string {
	var lines []string
	for _, caveat := range c.Published.Caveats {
		lines = append(lines, "Caveat: "+oneLine(caveat))
	}
	return lines
}

// caveats are Caveats in Markdown.
func (c *comparison) caveats() string {
	text := ""
	for _, line := range c.Caveats() {
		text += "- " + line + "\n"
	}
	return text
}

// Origin says where the published figures are from and how they were made.
func (c *comparison) Origin() []string {
	var servers []string
	for _, s := range c.Published.Servers {
		servers = append(servers, s.Server+" = "+s.Title)
	}
	return []string{
		"Source: " + oneLine(c.Published.Source), "Its method: " + oneLine(c.Published.Method), "Its servers: " + strings.Join(servers, "; "),
	}
}

// oneLine joins the lines of a text from YAML.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// counterparts returns the subjects of a workload that stand for a published server: the server itself or its variants.
func counterparts(w experiment.Workload, server string) []string {
	return slices.DeleteFunc(slices.Clone(w.Subjects), func(s string) bool { return serverOf(s) != server })
}

// serverOf returns the name of the server that a subject is, or is a variant of.
func serverOf(subject string) string {
	server, _, _ := strings.Cut(subject, "/")
	return server
}

// serversBeside is the source's table by server with the workload's figures beside it.
func serversBeside(run *result.Run, w experiment.Workload) grid {
	g := grid{
		Title: "By server, under " + w.Name, Names: 2,
		Head: []string{"server", "here", "mean ms published", "mean ms here", "requests/s published", "requests/s here", "CPU % published", "CPU % here",
			"memory MB published", "memory MB here"},
	}
	var rows []row
	for _, s := range run.Published.Servers {
		subjects := counterparts(w, s.Server)
		if len(subjects) == 0 {
			subjects = []string{noFigure}
		}
		for _, subject := range subjects {
			ours := []cell{{Value: noFigure}, {Value: noFigure}, {Value: noFigure}, {Value: noFigure}}
			if c := run.Cell(w.Name, subject); c != nil && c.Figures != nil {
				f := c.Figures
				ours = []cell{spread(f.RequestMeanMS, 1), spread(f.RequestsPerSecond, 1), spread(f.CPUShare, 100), spread(f.MemoryMean, 1e-6)}
			}
			r := row{Cells: []cell{{Value: s.Server}, {Value: subject}}}
			for i, theirs := range []float64{s.MeanMS, s.RequestsPerSecond, s.CPUPercent, s.MemoryMB} {
				r.Cells = append(r.Cells, cell{Value: asPublished(theirs)}, minor(ours[i]))
			}
			rows = append(rows, r)
		}
	}
	g.Groups = []group{{Rows: rows}}
	return g
}

// operationsBeside is the source's table by operation with the workload's means beside it; in brackets is the ratio to the reference.
func operationsBeside(run *result.Run, w experiment.Workload) grid {
	g := grid{Title: fmt.Sprintf("Mean ms by operation, under %s (in brackets: × %s)", w.Name, w.Reference), Names: 1, Head: []string{"operation"}}
	for _, s := range run.Published.Servers {
		g.Head = append(g.Head, s.Server+" published")
		for _, subject := range counterparts(w, s.Server) {
			g.Head = append(g.Head, subject+" here")
		}
	}
	reference := serverOf(w.Reference)
	var rows []row
	for _, o := range run.Published.Operations {
		ours := result.OperationFigures{Method: o.Method, Tool: o.Tool}
		if o.Tool != "" {
			ours.Method = "tools/call"
		}
		r := row{Cells: []cell{{Value: o.Title}}}
		for _, s := range run.Published.Servers {
			theirs := cell{Value: noFigure}
			if mean, ok := o.MeanMS[s.Server]; ok {
				theirs.Value = asPublished(mean)
				if base := o.MeanMS[reference]; base > 0 && s.Server != reference {
					theirs.Interval = "(" + significant(mean/base) + "×)"
				}
			}
			r.Cells = append(r.Cells, theirs)
			for _, subject := range counterparts(w, s.Server) {
				r.Cells = append(r.Cells, operationMean(run.Cell(w.Name, subject), ours))
			}
		}
		rows = append(rows, r)
	}
	g.Groups = []group{{Rows: rows}}
	return g
}

// asPublished writes a figure with all the digits that its source gives.
func asPublished(x float64) string { return humanize.Commaf(x) }
