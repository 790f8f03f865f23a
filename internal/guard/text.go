package guard

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// WriteJSON writes the whole report, each pair's ratios included.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}

// WriteText writes the report for people: the table, how it was made, what did not count, and the verdict last.
func (r *Report) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, r.text())
	return err
}

func (r *Report) text() string {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateColumns = false
	t.AppendHeader(table.Row{"workload", "latency", "base ms", "head ms", "head / base", "lower", "upper", "noise floor", "verdict"})
	var columns []table.ColumnConfig
	for number := 3; number <= 8; number++ {
		columns = append(columns, table.ColumnConfig{Number: number, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for i, m := range r.Metrics {
		name := m.Workload
		if i > 0 && r.Metrics[i-1].Workload == m.Workload {
			name = ""
		} else if i > 0 {
			t.AppendSeparator()
		}
		row := table.Row{name, fmt.Sprintf("p%g", m.Percentile), milliseconds(m.BaseMS), milliseconds(m.HeadMS)}
		if e := m.Estimate; e != nil {
			row = append(row, fmt.Sprintf("%.3f", e.Median), fmt.Sprintf("%.3f", e.Lower), fmt.Sprintf("%.3f", e.Upper), fmt.Sprintf("±%.1f %%", 100*e.NoiseFloor))
		} else {
			row = append(row, "–", "–", "–", "–")
		}
		verdict := string(m.Verdict)
		if m.Why != "" {
			verdict = strings.TrimPrefix(verdict+": "+m.Why, ": ")
		}
		t.AppendRow(append(row, verdict))
	}

	var out strings.Builder
	fmt.Fprintf(&out, "%s: head %s against base %s\n\n%s\n\n", r.Subject, r.Head, r.Base, t.Render())
	fmt.Fprintf(&out, "%s of base and head for each workload, and as many of base and base for the noise floor; seed %d.\n", english.Plural(r.Pairs, "pair", ""), r.Seed)
	fmt.Fprintf(&out, "head / base is the median over pairs. lower and upper bound it with %g %%; lower is corrected (Holm) for m = %d judged metrics.\n", 100*Confidence, r.Gated)
	fmt.Fprintf(&out, "FAIL: median above %.2f and lower above %.2f. PASS: upper below %.2f.\n", Limit, Unchanged, Limit)
	if len(r.Invalid) > 0 {
		fmt.Fprintf(&out, "\n%s left their pairs out:\n", english.Plural(len(r.Invalid), "reason against a launch", "reasons against launches"))
		for _, line := range r.Invalid {
			out.WriteString("  " + line + "\n")
		}
	}
	if len(r.Unfit) > 0 {
		out.WriteString("\nThis machine is too noisy now to judge by. End what else runs on it, or take another:\n")
		for _, line := range r.Unfit {
			out.WriteString("  " + line + "\n")
		}
	}
	out.WriteString("\n" + r.conclusion() + "\n")
	return out.String()
}

// milliseconds writes a latency, which is 0 where no launch is valid.
func milliseconds(ms float64) string {
	if ms == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3f", ms)
}

// conclusion is the last line: the verdict and its reason.
func (r *Report) conclusion() string {
	var failed, open []string
	floor := 0.0
	for _, m := range r.Metrics {
		name := fmt.Sprintf("%s p%g", m.Workload, m.Percentile)
		switch {
		case m.Verdict == Fail:
			failed = append(failed, fmt.Sprintf("%s %+.0f %%", name, 100*(m.Estimate.Median-1)))
		case m.Verdict == Inconclusive:
			open = append(open, name)
		}
		if m.Gated && m.Estimate != nil {
			floor = max(floor, m.Estimate.NoiseFloor)
		}
	}
	switch r.Verdict {
	case Fail:
		return "FAIL: head is slower: " + strings.Join(failed, ", ")
	case Pass:
		return fmt.Sprintf("PASS: no judged percentile is %.0f %% slower or more", 100*(Limit-1))
	default:
		line := fmt.Sprintf("INCONCLUSIVE after %s: %s", english.Plural(r.Pairs, "pair", ""), strings.Join(open, ", "))
		if floor > 0 {
			line += fmt.Sprintf("; noise floor up to ±%.1f %%", 100*floor)
		}
		return line
	}
}
