// Package load makes the launches of an experiment: it starts a server, lets k6 load it, reads what it uses, and stops it.
package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/progress"
	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// Config is what launches need besides the experiment.
type Config struct {
	// Backend starts the servers, which are built already.
	Backend backend.Backend
	// Services says how to start each subject of the experiment, by its ID, with environment, CPUs and memory limit set.
	Services map[string]backend.Service
	// Upstream is the upstream service, which is running.
	Upstream backend.Instance
	Budget   result.Budget
	// Host starts K6, the path of a k6 with k6/x/mcp as BuildK6 makes it.
	Host Host
	K6   string
	// Root is the root of the project, where k6's scripts are.
	Root string
	// Oracle returns the structuredContent with which a tool must answer.
	Oracle func(tool string, arguments json.RawMessage) (json.RawMessage, error)

	// cpuTimes stands in for the machine in tests, which run on busy ones.
	cpuTimes func(context.Context) (busy, stolen time.Duration, err error)
}

// Run makes the launches of the run that have not been made, commits the run's folder and returns its path. Of the run all must be filled in
// that is known before the first launch.
//
// When the context is cancelled, what is running is stopped, the launch that was being made is given up, and the run is committed as a
// partial one: there is a path and an error then. Without any launch nothing is left.
func Run(ctx context.Context, c Config, run *result.Run, files *result.Folder, display *progress.Display) (folder string, err error) {
	defer func() {
		if len(run.Launches) == 0 {
			err = errors.Join(err, files.Discard())
		} else if folder == "" { // not committed: it can be opened again
			err = errors.Join(err, files.Close())
		}
	}()
	e := run.Experiment
	expected := map[string]json.RawMessage{}
	for _, w := range e.Workloads {
		if expected[w.Name], err = c.expected(w); err != nil {
			return "", err
		}
	}
	for _, id := range e.Subjects {
		if _, ok := c.Services[id]; !ok {
			return "", fmt.Errorf("experiment %s: there is no service for subject %s", e.Name, id)
		}
	}
	if err := files.Begin(); err != nil {
		return "", err
	}
	run.Status = result.Partial
	calls := func(w experiment.Workload) bool { return w.CallsTool(stats.ToolCallingUpstream) }
	if run.Upstream == nil && slices.ContainsFunc(e.Workloads, calls) {
		capacity, err := UpstreamCapacity(ctx, c.Upstream.URL())
		if err != nil {
			return "", err
		}
		run.Upstream = &result.Upstream{CapacityPerSecond: capacity}
	}

	plan := e.Plan(run.Seed)
	var stopped error
	for _, p := range plan[len(run.Launches):] {
		title := fmt.Sprintf("%*d/%d %s %s, %s", len(fmt.Sprint(len(plan))), p.Number, len(plan), p.Subject, p.Workload, left(timeLeft(run, plan)))
		l := c.newLaunch(e.WorkloadOf(p.Subject, p.Workload), p, expected[p.Workload], files.Path())
		display.During(title, l.status.String, func() string {
			if stopped = l.make(ctx); stopped != nil {
				return "given up"
			}
			return verdict(l.workload, l.Launch)
		})
		if stopped != nil {
			stopped = fmt.Errorf("launch %d of %d, %s %s: %w", p.Number, len(plan), p.Subject, p.Workload, stopped)
			if err := os.RemoveAll(l.folder()); err != nil {
				return "", errors.Join(stopped, err)
			}
			break
		}
		run.Launches = append(run.Launches, l.Launch)
		if i := slices.IndexFunc(run.Subjects, func(s result.Subject) bool { return s.ID == p.Subject }); l.image != "" {
			run.Subjects[i].Image = l.image
		}
		if err := files.Save(run); err != nil {
			return "", err
		}
	}
	if len(run.Launches) == 0 {
		return "", stopped
	}
	if len(run.Launches) == len(plan) {
		run.Status = result.Complete
	}
	run.FinishedAt = time.Now().UTC().Truncate(time.Millisecond)
	if err := stats.Summarise(run, files.Path()); err != nil {
		return "", errors.Join(stopped, err)
	}
	folder, err = files.Commit(run, []byte(report.Markdown(run)))
	return folder, errors.Join(stopped, err)
}

// expected returns the right answers to the calls of a workload, in the form in which the scripts compare them.
func (c Config) expected(w experiment.Workload) (json.RawMessage, error) {
	answers := []json.RawMessage{}
	for _, call := range w.Calls {
		answer, err := c.answer(call)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", w.Name, err)
		}
		answers = append(answers, answer)
	}
	return json.Marshal(answers)
}

func (c Config) answer(call experiment.Call) (json.RawMessage, error) {
	if call.Method == experiment.MethodListTools {
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
	arguments, err := call.ArgumentsJSON()
	if err != nil {
		return nil, err
	}
	answer, err := c.Oracle(call.Tool, arguments)
	if err != nil {
		return nil, fmt.Errorf("%s with %s has no successful answer to expect: %w", call.Tool, arguments, err)
	}
	return answer, nil
}

// verdict is what a launch ends with on the progress display.
func verdict(w experiment.Workload, l result.Launch) string {
	if reasons := stats.Judge(w, l); len(reasons) > 0 {
		return "invalid: " + reasons[0]
	}
	if len(w.Calls) == 0 {
		return fmt.Sprintf("%.0f sessions/s", l.Counts.Iterations/l.Window.Seconds())
	}
	return fmt.Sprintf("%.0f calls/s", float64(l.Counts.OK)/l.Window.Seconds())
}

// timeLeft guesses how long the launches will take that are not made yet: as long as those of the same workload so far, or as one is
// expected to take.
func timeLeft(run *result.Run, plan []experiment.Launch) time.Duration {
	taken, made := map[string]time.Duration{}, map[string]int{}
	for _, l := range run.Launches {
		taken[l.Workload] += l.EndedAt.Sub(l.StartedAt)
		made[l.Workload]++
	}
	var total time.Duration
	for _, p := range plan[len(run.Launches):] {
		if n := made[p.Workload]; n > 0 {
			total += taken[p.Workload] / time.Duration(n)
		} else {
			total += run.Experiment.WorkloadOf(p.Subject, p.Workload).Load.Time()
		}
	}
	return total
}
