// Package load makes the launches of an experiment: it starts a server, lets k6 load it, reads what it uses, and stops it.
package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// Config is what a run needs besides the experiment.
type Config struct {
	// Backend starts the servers, which are built already.
	Backend backend.Backend
	// Services says how to start each subject of the experiment, by its ID, with environment, CPUs and memory limit set.
	Services map[string]backend.Service
	// Subjects describes each subject of the experiment, in the experiment's order.
	Subjects []result.Subject
	// UpstreamURL is the base URL of the upstream service, which is running.
	UpstreamURL string
	Budget      result.Budget
	// Host starts K6, the path of a k6 with k6/x/mcp as BuildK6 makes it, with Script, the path of the script for the experiment's
	// load shape.
	Host       Host
	K6, Script string
	// Oracle returns the structuredContent with which a tool must answer.
	Oracle func(tool string, arguments json.RawMessage) (json.RawMessage, error)

	// Seed gives the order of the launches. It is below 2^53, so that every reader of JSON gets it exactly.
	Seed uint64
	// Command is what the user typed, Environment where; Notes are what else a reader must know, a sentence each. Run adds the
	// backend and its notes.
	Command     string
	Environment result.Environment
	Notes       []string

	// Results is the folder in which the run gets its own.
	Results string
	// Progress gets a line for each launch.
	Progress io.Writer
}

// Run makes all launches of the experiment and writes the run's folder. It returns the run and the folder's path. When the
// context is cancelled, whatever is running is stopped and no folder is left.
func Run(ctx context.Context, c Config, e experiment.Experiment) (run *result.Run, folder string, err error) {
	expected := map[string]json.RawMessage{}
	for _, w := range e.Workloads {
		if expected[w.Name], err = c.expected(w); err != nil {
			return nil, "", err
		}
	}
	for _, id := range e.Subjects {
		if _, ok := c.Services[id]; !ok {
			return nil, "", fmt.Errorf("experiment %s: there is no service for subject %s", e.Name, id)
		}
	}
	run = &result.Run{
		SchemaVersion: result.SchemaVersion,
		StartedAt:     time.Now().UTC().Truncate(time.Millisecond),
		Command:       c.Command,
		Seed:          c.Seed,
		Experiment:    e,
		Environment:   c.Environment,
		Budget:        c.Budget,
		Subjects:      c.Subjects,
		Notes:         append([]string{"Backend: " + strings.Join(c.Backend.Notes(), "; ") + "."}, c.Notes...),
	}
	run.Environment.Backend = c.Backend.Name()
	run.ID = result.NewID(e.Name, run.StartedAt)
	files, err := result.NewFolder(c.Results, run.ID)
	if err != nil {
		return nil, "", err
	}
	defer files.Discard() // does nothing after Commit

	if slices.ContainsFunc(e.Workloads, func(w experiment.Workload) bool { return w.Tool == stats.ToolCallingUpstream }) {
		capacity, err := UpstreamCapacity(ctx, c.UpstreamURL)
		if err != nil {
			return nil, "", err
		}
		run.Upstream = &result.Upstream{CapacityPerSecond: capacity}
	}
	plan := e.Plan(c.Seed)
	for _, p := range plan {
		fmt.Fprintf(c.Progress, "%*d/%d %s %s: %s warm-up, %s measuring … ",
			len(fmt.Sprint(len(plan))), p.Number, len(plan), p.Subject, p.Workload, e.Load.Warmup, e.Load.Duration)
		l, err := c.launch(ctx, e, p, expected[p.Workload], files.Path())
		if err != nil {
			fmt.Fprintln(c.Progress, "cancelled")
			return nil, "", fmt.Errorf("launch %d of %d, %s %s: %w", p.Number, len(plan), p.Subject, p.Workload, err)
		}
		fmt.Fprintln(c.Progress, verdict(l))
		run.Launches = append(run.Launches, l)
	}
	run.FinishedAt = time.Now().UTC().Truncate(time.Millisecond)
	if err := stats.Summarise(run, files.Path()); err != nil {
		return nil, "", err
	}
	if run.Upstream != nil {
		fmt.Fprintln(c.Progress, report.Upstream(*run.Upstream))
	}
	folder, err = files.Commit(run, []byte(report.Markdown(run)))
	if err != nil {
		return nil, "", err
	}
	return run, folder, nil
}

// expected returns the right answer of a workload, in the form in which the script compares it.
func (c Config) expected(w experiment.Workload) (json.RawMessage, error) {
	if w.Method == experiment.MethodListTools {
		tools, err := contract.Tools()
		if err != nil {
			return nil, err
		}
		var names []string
		for _, t := range tools {
			names = append(names, t.Name)
		}
		return json.Marshal(names)
	}
	arguments, err := w.ArgumentsJSON()
	if err != nil {
		return nil, err
	}
	answer, err := c.Oracle(w.Tool, arguments)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %s with %s has no successful answer to expect: %w", w.Name, w.Tool, arguments, err)
	}
	return answer, nil
}

// verdict is what a launch ends with on the progress display.
func verdict(l result.Launch) string {
	if reasons := stats.Judge(l); len(reasons) > 0 {
		return "invalid: " + reasons[0]
	}
	return fmt.Sprintf("%.0f calls/s", l.CallsPerSecond())
}
