// Package report renders a run for people. It computes no figure: all are those of run.json. The plots of the HTML page draw the raw
// files behind them.
package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/mcp-parity/mcp-parity/internal/result"
)

// Text renders the run for a terminal.
func Text(run *result.Run) string {
	var out strings.Builder
	out.WriteString(run.Experiment.Title + "\n\n")
	for _, line := range state(run) {
		out.WriteString(line + "\n\n")
	}
	for _, g := range tables(run) {
		out.WriteString(g.text() + "\n\n")
	}
	if c := compare(run); c != nil {
		out.WriteString("Beside " + c.Published.Title + "\n\n")
		for _, g := range c.Tables {
			out.WriteString(g.Title + "\n" + g.text() + "\n\n")
		}
		out.WriteString(c.words("", "  "))
		if n := len(c.Published.Caveats); n > 0 {
			fmt.Fprintf(&out, "What to know about the source: %s in %s.\n", english.Plural(n, "caveat", ""), result.ReportFile)
		}
		out.WriteString("\n")
	}
	for _, line := range conditions(run) {
		out.WriteString(line + "\n")
	}
	return out.String()
}

// Markdown renders the run as report.md.
func Markdown(run *result.Run) string {
	var out strings.Builder
	out.WriteString("# " + run.Experiment.Title + "\n\n")
	out.WriteString(warning(run))
	for _, g := range tables(run) {
		out.WriteString(g.markdown() + "\n\n")
	}
	if c := compare(run); c != nil {
		out.WriteString("## Beside " + c.Published.Title + "\n\n")
		for _, line := range c.Origin() {
			out.WriteString("- " + line + "\n")
		}
		out.WriteString("\nIn the source's columns; in ours, the same launches are in the tables above.\n\n")
		for _, g := range c.Tables {
			out.WriteString("### " + g.Title + "\n\n" + g.markdown() + "\n\n")
		}
		out.WriteString("### What holds\n\n" + c.words("- ", "  - ") + c.caveats() + "\n## How it was made\n\n")
	}
	for _, line := range conditions(run) {
		out.WriteString("- " + line + "\n")
	}
	out.WriteString("\nThe figures are in `" + result.RunFile + "`, the histograms that they are made from under `launches/`.\n")
	return out.String()
}

// Excerpt renders what a page at the project's root that shows the run's figures needs: the tables, how they were made, and how to
// check them.
func Excerpt(run *result.Run) string {
	return excerpt(run, "results/"+run.ID)
}

// excerpt is Excerpt for a page from which the run's folder is reached by that path.
func excerpt(run *result.Run, folder string) string {
	var out strings.Builder
	out.WriteString(warning(run))
	for _, g := range tables(run) {
		out.WriteString(g.markdown() + "\n\n")
	}
	for _, line := range brief(run) {
		out.WriteString("- " + line + "\n")
	}
	fmt.Fprintf(&out, "\nRun [%s](%s/%s); `go run ./cmd/parity verify results/%[1]s` recomputes every figure from its raw files.\n", run.ID, folder, result.ReportFile)
	return out.String()
}

// warning is state in Markdown.
func warning(run *result.Run) string {
	text := ""
	for _, line := range state(run) {
		text += "**" + line + "**\n\n"
	}
	return text
}

// Results renders the body of results/RESULTS.md: the runs, in this order, each with its tables, what it makes of a published table, and
// the commands that make it again and check it.
func Results(runs []*result.Run) string {
	var out strings.Builder
	for i, run := range runs {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "## %s: %s\n\n", run.Experiment.Name, run.Experiment.Title)
		fmt.Fprintf(&out, "%s. To make it again:\n\n```\n%s```\n\n", run.StartedAt.UTC().Format(time.DateOnly), again(run))
		out.WriteString(excerpt(run, run.ID))
		if c := compare(run); c != nil {
			fmt.Fprintf(&out, "\n### Beside %s\n\n%s", c.Published.Title, c.words("- ", "  - ")+c.caveats())
		}
	}
	return out.String()
}

// again returns the commands that make the same launches in the same order, a line each.
func again(run *result.Run) string {
	commands := ""
	if c := run.Environment.Commit; c != "" {
		commands = "git checkout " + c + "\n"
	}
	commands += "go run ./cmd/parity run " + run.Experiment.Name
	if scale := run.Experiment.Scale; scale != 0 && scale != 1 {
		commands += " --scale " + number(scale)
	}
	return commands + fmt.Sprintf(" --backend %s --seed %d\n", run.Environment.Backend, run.Seed)
}

// grid is a table, ready to be written in any form.
type grid struct {
	// Title is what an HTML page and Markdown call it; empty where the place says enough.
	Title string
	// Names is how many columns from the left have names in them. The others have figures, but for the last, if Remarks is set.
	Names   int
	Remarks bool
	Head    []string
	// Groups are separated by a line.
	Groups []group
}

type group struct {
	// Name stands in the first column of the first row.
	Name string
	Rows []row
}

type row struct {
	// Void rows have no figures.
	Void  bool
	Cells []cell
}

// cell is what stands in one place.
type cell struct {
	Value string
	// Interval says how well the value is known; empty if that is not known.
	Interval string
	// Minor intervals are left out where there is no room: a line of ten of them is not read.
	Minor bool
}

func (c cell) String() string {
	if c.Interval == "" || c.Minor {
		return c.Value
	}
	return c.Value + " " + c.Interval
}

// noFigure stands where there is none. An empty place would look like a mistake, a zero like a figure.
const noFigure = "–"

func (g grid) text() string {
	t := g.writer(func(name string) string { return name })
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateColumns = false
	return t.Render()
}

func (g grid) markdown() string {
	return g.writer(func(name string) string { return "**" + name + "**" }).RenderMarkdown()
}

func (g grid) writer(emphasise func(string) string) table.Writer {
	t := table.NewWriter()
	header := table.Row{}
	var configs []table.ColumnConfig
	for i, name := range g.Head {
		header = append(header, name)
		if i >= g.Names && !(g.Remarks && i == len(g.Head)-1) {
			configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	for i, group := range g.Groups {
		if i > 0 {
			t.AppendSeparator()
		}
		for j, row := range group.Rows {
			cells := table.Row{}
			switch {
			case group.Name == "":
			case j == 0:
				cells = append(cells, emphasise(group.Name))
			default:
				cells = append(cells, "")
			}
			for _, c := range row.Cells {
				cells = append(cells, c.String())
			}
			t.AppendRow(cells)
		}
	}
	return t
}
