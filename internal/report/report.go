// Package report renders a run for people. It computes no figure: all are those of run.json. The plots of the HTML page draw the raw
// files behind them.
package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/mcp-parity/mcp-parity/internal/result"
)

// Text renders the run for a terminal.
func Text(run *result.Run) string {
	t := build(run, false)
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateColumns = false
	var out strings.Builder
	out.WriteString(run.Experiment.Title + "\n\n")
	out.WriteString(t.Render() + "\n\n")
	for _, line := range conditions(run) {
		out.WriteString(line + "\n")
	}
	return out.String()
}

// Markdown renders the run as report.md.
func Markdown(run *result.Run) string {
	t := build(run, true)
	var out strings.Builder
	out.WriteString("# " + run.Experiment.Title + "\n\n")
	out.WriteString(t.RenderMarkdown() + "\n\n")
	for _, line := range conditions(run) {
		out.WriteString("- " + line + "\n")
	}
	out.WriteString("\nThe figures are in `" + result.RunFile + "`, the histograms that they are made from under `launches/`.\n")
	return out.String()
}

// Excerpt renders what a page that shows the run's figures needs: the table, how it was made, and how to check it.
func Excerpt(run *result.Run) string {
	return build(run, true).RenderMarkdown() + "\n\n" +
		strings.Join(setting(run), " ") + "\n\n" +
		fmt.Sprintf("Run [%s](results/%[1]s/%s); `go run ./cmd/parity verify results/%[1]s` recomputes every figure from its raw files.\n", run.ID, result.ReportFile)
}

// noFigure stands where there is none. An empty place would look like a mistake, a zero like a figure.
const noFigure = "–"

// build makes the table: a group of rows for each workload, in the order of the experiment, because a ranking would claim more
// than one launch can show.
func build(run *result.Run, markdown bool) table.Writer {
	t := table.NewWriter()
	header := table.Row{"workload", "server"}
	for _, column := range columns(run) {
		header = append(header, column)
	}
	t.AppendHeader(header)
	var configs []table.ColumnConfig
	for number := 3; number <= 10; number++ {
		configs = append(configs, table.ColumnConfig{Number: number, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	workload := ""
	for _, c := range run.Cells {
		name := ""
		if c.Workload != workload {
			if workload != "" {
				t.AppendSeparator()
			}
			workload, name = c.Workload, c.Workload
			if markdown {
				name = "**" + name + "**"
			}
		}
		row := table.Row{name, c.Subject}
		for _, value := range values(c) {
			row = append(row, value)
		}
		t.AppendRow(row)
	}
	return t
}

// columns names what values writes, in the same order.
func columns(run *result.Run) []string {
	return []string{
		"calls/s", "× " + run.Experiment.Reference, "p50 ms", "p95 ms", "p99 ms", "CPU s / 1,000 calls", "idle MiB", "peak MiB", "errors",
	}
}

// values writes a cell for a table: its figures, or in the last place why there are none.
func values(c result.Cell) []string {
	f := c.Figures
	if f == nil {
		return append(slices.Repeat([]string{noFigure}, 8), "invalid: "+strings.Join(c.Invalid, "; "))
	}
	ratio := noFigure
	if f.Ratio != nil {
		ratio = significant(*f.Ratio)
	}
	return []string{
		significant(f.CallsPerSecond), ratio, significant(f.P50MS), significant(f.P95MS), significant(f.P99MS),
		significant(f.CPUSecondsPer1000), significant(mebibytes(f.MemoryIdleBytes)), significant(mebibytes(f.MemoryPeakBytes)), "0",
	}
}

// setting says under which load, budget and on which machine the run was made, a sentence each.
func setting(run *result.Run) []string {
	e, load := run.Environment, run.Experiment.Load
	return []string{
		fmt.Sprintf("Load: closed loop, %s, one session each, %s of warm-up, then %s measured; %s of each server for each workload, seed %d.",
			english.Plural(load.Users, "user", ""), load.Warmup, load.Duration, english.Plural(run.Experiment.Launches, "fresh start", ""), run.Seed),
		fmt.Sprintf("Budget: server on CPU %s%s, load generator and upstream on CPU %s.",
			list(run.Budget.ServerCPUs), memory(run.Budget.MemoryBytes), list(run.Budget.GeneratorCPUs)),
		fmt.Sprintf("Machine: %s, %s, %s of memory, %s %s, %s backend.",
			e.CPUModel, english.Plural(e.CPUs, "CPU", ""), humanize.IBytes(e.MemoryBytes), e.OS, e.Kernel, e.Backend),
	}
}

// conditions says how the run was made, a fact on each line.
func conditions(run *result.Run) []string {
	lines := setting(run)
	var subjects []string
	for _, s := range run.Subjects {
		subjects = append(subjects, fmt.Sprintf("%s = %s %s, %s %s", s.ID, s.Language.Name, runtimes(run, s), s.SDK.Name, s.SDK.Version))
	}
	lines = append(lines, "Servers: "+strings.Join(subjects, "; ")+".")
	if run.Upstream != nil {
		lines = append(lines, Upstream(*run.Upstream))
	}
	for _, l := range run.Launches {
		if l.FirstError != "" {
			lines = append(lines, fmt.Sprintf("First error of %s %s: %s", l.Subject, l.Workload, l.FirstError))
		}
	}
	lines = append(lines, run.Notes...)
	return append(lines, fmt.Sprintf("Run: %s, made by `%s`%s.", run.ID, run.Command, commit(run.Environment)))
}

// runtimes lists the versions of the runtime that the subject's launches had: one, unless something was changed during the run.
func runtimes(run *result.Run, s result.Subject) string {
	var versions []string
	for _, l := range run.Launches {
		if l.Subject == s.ID && l.Runtime != "" && !slices.Contains(versions, l.Runtime) {
			versions = append(versions, l.Runtime)
		}
	}
	if len(versions) == 0 {
		return s.Language.Version + " or newer"
	}
	return strings.Join(versions, " and ")
}

// Upstream says how far the upstream service was from its limit.
func Upstream(u result.Upstream) string {
	if u.FastestSubject == "" {
		return fmt.Sprintf("Upstream: serves %s requests/s; no valid launch called it.", significant(u.CapacityPerSecond))
	}
	return fmt.Sprintf("Upstream: serves %s requests/s, %s times the %s that %s, the fastest, asked of it.", significant(u.CapacityPerSecond),
		significant(u.CapacityPerSecond/u.AskedPerSecond), significant(u.AskedPerSecond), u.FastestSubject)
}

func commit(e result.Environment) string {
	switch {
	case e.Commit == "":
		return ""
	case e.Dirty:
		return " at commit " + e.Commit + " with local changes"
	default:
		return " at commit " + e.Commit
	}
}

func memory(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return " with " + humanize.IBytes(uint64(bytes))
}

func list(numbers []int) string {
	var text []string
	for _, n := range numbers {
		text = append(text, strconv.Itoa(n))
	}
	return strings.Join(text, ", ")
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// significant writes a number with three significant digits, which is about what one run can tell.
func significant(x float64) string {
	if x == 0 {
		return "0"
	}
	const digits = 3
	// Rounded first: 9.999 is 10.0, with one decimal.
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(x))))
	if decimals <= 0 {
		return humanize.Comma(int64(x))
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}
