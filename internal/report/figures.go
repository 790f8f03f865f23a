package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

// column is a figure of every cell under a workload.
type column struct {
	name string
	// read returns what stands in the table; f is not nil.
	read func(f *result.Figures) cell
}

// columns returns the figures that tell something about the workload; reference are those of its reference, or nil.
func columns(w experiment.Workload, reference *result.Figures) []column {
	rate := column{"calls/s", func(f *result.Figures) cell { return spread(f.CallsPerSecond, 1) }}
	unit, latency := "calls", ""
	switch {
	case len(w.Calls) == 0:
		rate = column{"sessions/s", func(f *result.Figures) cell { return spread(f.IterationsPerSecond, 1) }}
		unit, latency = "sessions", "initialize " // the one request of a session that waits for an answer
	case w.Load.Shape == experiment.ShapeSearch:
		rate = column{"calls/s at " + objective(*w.Load.Objective), func(f *result.Figures) cell { return atLeast(f, spread(f.CallsPerSecond, 1)) }}
	}
	all := []column{rate}
	if len(w.Calls) > 1 {
		all = append(all, column{"iterations/s", func(f *result.Figures) cell { return atLeast(f, spread(f.IterationsPerSecond, 1)) }})
	}
	mebi := 1.0 / (1 << 20)
	return append(all,
		column{"× " + w.Reference, func(f *result.Figures) cell { return times(f, reference) }},
		column{latency + "p50 ms", func(f *result.Figures) cell { return minor(spread(f.P50MS, 1)) }},
		column{latency + "p95 ms", func(f *result.Figures) cell { return minor(spread(f.P95MS, 1)) }},
		column{latency + "p99 ms", func(f *result.Figures) cell { return minor(spread(f.P99MS, 1)) }},
		column{"CPU s / 1,000 " + unit, func(f *result.Figures) cell { return minor(spread(f.CPUSecondsPer1000, 1)) }},
		column{"idle MiB", func(f *result.Figures) cell { return minor(spread(f.MemoryIdle, mebi)) }},
		column{"peak MiB", func(f *result.Figures) cell { return minor(spread(f.MemoryPeak, mebi)) }},
	)
}

// figureTables makes the tables of the run's cells: a group of rows for each workload, in the order of the experiment, because a ranking
// would claim more than the intervals can show. Workloads that follow each other and have the same columns share a table.
func figureTables(run *result.Run) []grid {
	var all []grid
	for _, w := range run.Experiment.Workloads {
		var reference *result.Figures
		if c := run.Cell(w.Name, w.Reference); c != nil {
			reference = c.Figures
		}
		columns := columns(w, reference)
		head := []string{"workload", "server"}
		for _, c := range columns {
			head = append(head, c.name)
		}
		head = append(head, "launches", "errors")
		if len(all) == 0 || !slices.Equal(all[len(all)-1].Head, head) {
			all = append(all, grid{Names: 2, Head: head})
		}
		g := group{Name: w.Name}
		for _, c := range run.Cells {
			if c.Workload == w.Name {
				g.Rows = append(g.Rows, figureRow(c, columns))
			}
		}
		last := &all[len(all)-1]
		last.Groups = append(last.Groups, g)
	}
	return all
}

// figureRow writes a cell for a table. Why there are no figures is said of each launch, below the table: see invalid.
func figureRow(c result.Cell, columns []column) row {
	r := row{Void: c.Figures == nil, Cells: []cell{{Value: c.Subject}}}
	for _, column := range columns {
		if c.Figures == nil {
			r.Cells = append(r.Cells, cell{Value: noFigure})
			continue
		}
		r.Cells = append(r.Cells, column.read(c.Figures))
	}
	r.Cells = append(r.Cells, cell{Value: fmt.Sprintf("%d/%d", c.Valid, c.Launches)}, cell{Value: fmt.Sprint(c.Errors)})
	return r
}

// requestTables shows what each kind of request takes, those of the handshake too, under the workloads that send more than one kind.
// Workloads that follow each other and have the same servers share a table.
func requestTables(run *result.Run) []grid {
	var all []grid
	for _, w := range run.Experiment.Workloads {
		head := append([]string{"workload", "request, mean ms (× " + w.Reference + ")"}, w.Subjects...)
		g := group{Name: w.Name}
		for _, o := range operations(run, w) {
			name := o.Tool
			if name == "" {
				name = o.Method
			}
			r := row{Cells: []cell{{Value: name}}}
			for _, subject := range w.Subjects {
				r.Cells = append(r.Cells, operationMean(run.Cell(w.Name, subject), o))
			}
			g.Rows = append(g.Rows, r)
		}
		if len(g.Rows) < 2 {
			continue
		}
		if len(all) == 0 || !slices.Equal(all[len(all)-1].Head, head) {
			all = append(all, grid{Names: 2, Head: head})
		}
		last := &all[len(all)-1]
		last.Groups = append(last.Groups, g)
	}
	return all
}

// operations are those that any server of the workload has figures of, in the order in which a session sends them.
func operations(run *result.Run, w experiment.Workload) []result.OperationFigures {
	var all []result.OperationFigures
	for _, subject := range w.Subjects {
		c := run.Cell(w.Name, subject)
		if c == nil || c.Figures == nil {
			continue
		}
		for _, o := range c.Figures.Operations {
			if !slices.ContainsFunc(all, func(a result.OperationFigures) bool { return a.Method == o.Method && a.Tool == o.Tool }) {
				all = append(all, o)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b result.OperationFigures) int { return cmp.Compare(place(w, a), place(w, b)) })
	return all
}

// place is where an operation comes in a session.
func place(w experiment.Workload, o result.OperationFigures) int {
	switch o.Method {
	case "initialize":
		return -2
	case "notifications/initialized":
		return -1
	case "DELETE":
		return len(w.Calls)
	}
	return slices.IndexFunc(w.Calls, func(c experiment.Call) bool { return o.Tool == c.Tool && (c.Tool != "" || o.Method == c.Method) })
}

// operationMean writes the mean of an operation and, in brackets, its ratio to that of the reference.
func operationMean(c *result.Cell, o result.OperationFigures) cell {
	if c == nil || c.Figures == nil {
		return cell{Value: noFigure}
	}
	i := slices.IndexFunc(c.Figures.Operations, func(f result.OperationFigures) bool { return f.Method == o.Method && f.Tool == o.Tool })
	if i < 0 {
		return cell{Value: noFigure}
	}
	f := c.Figures.Operations[i]
	mean := cell{Value: significant(f.MeanMS.Value)}
	if f.MeanRatio != nil {
		mean.Interval = "(" + relation(&result.Ratio{Value: f.MeanRatio.Value, Same: f.MeanRatio.Same}).Value + "×)"
	}
	return mean
}

// tables are all tables of the run's own figures.
func tables(run *result.Run) []grid { return append(figureTables(run), requestTables(run)...) }

// objective says what a search looks for: "p99 ≤ 50 ms".
func objective(o experiment.Objective) string {
	return fmt.Sprintf("p%s ≤ %s", number(o.Percentile), milliseconds(o.Latency))
}

// spread writes a figure times a factor, and how far its interval reaches from it at most: terse, as there are ten in a row.
func spread(f result.Figure, factor float64) cell {
	c := cell{Value: significant(f.Value * factor)}
	if f.Low != nil && f.High != nil && f.Value != 0 {
		c.Interval = "± " + percent(max(f.Value-*f.Low, *f.High-f.Value)/f.Value)
	}
	return c
}

func minor(c cell) cell {
	c.Minor = true
	return c
}

// atLeast marks what was limited by the load generator rather than by the server.
func atLeast(f *result.Figures, c cell) cell {
	if f.Limited {
		c.Value = "≥ " + c.Value
	}
	return c
}

// times writes the ratio to the reference. A rate that was limited by the load generator bounds it from one side, two such rates do not.
func times(f, reference *result.Figures) cell {
	if f == reference {
		return cell{Value: "1"}
	}
	c := relation(f.Ratio)
	if f.Ratio == nil || reference == nil {
		return c
	}
	switch {
	case f.Limited && reference.Limited:
		return cell{Value: noFigure}
	case f.Limited:
		c.Value = "≥ " + c.Value
	case reference.Limited:
		c.Value = "≤ " + c.Value
	}
	return c
}

// relation writes a ratio with its interval, after a ~ if it cannot be told from 1.
func relation(r *result.Ratio) cell {
	if r == nil {
		return cell{Value: noFigure}
	}
	c := cell{Value: significant(r.Value)}
	if r.Same {
		c.Value = "~ " + c.Value
	}
	if r.Low != nil && r.High != nil {
		c.Interval = fmt.Sprintf("(%s–%s)", significant(*r.Low), significant(*r.High))
	}
	return c
}
