package load

import (
	"context"
	"errors"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// Launch makes one launch of the experiment by itself, for callers that decide as they go how many to make. Its raw files are below
// folder, where Launch.Folder and Operation.Histogram say. It is judged: Launch.Invalid has the reasons against it. Upstream is what
// the upstream service can serve, as UpstreamCapacity measures it; nil for workloads that do not call it. The error is for a context
// that was cancelled and for an experiment that cannot be run.
func (c Config) Launch(ctx context.Context, e experiment.Experiment, p experiment.Launch, upstream *result.Upstream, folder string) (result.Launch, error) {
	w := e.WorkloadOf(p.Subject, p.Workload)
	expected, err := c.expected(w)
	if err != nil {
		return result.Launch{}, err
	}
	if c.Upstream == nil {
		return result.Launch{}, errors.New("the upstream service is not running")
	}
	l := c.newLaunch(w, p, expected, folder)
	if err := l.make(ctx); err != nil {
		return result.Launch{}, err
	}
	run := &result.Run{Experiment: e, Budget: c.Budget, Launches: []result.Launch{l.Launch}, Upstream: upstream}
	err = stats.Summarise(run, folder)
	return run.Launches[0], err
}
