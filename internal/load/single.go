package load

import (
	"context"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// Launch makes one launch of the experiment by itself, for callers that decide as they go how many to make. Its raw files are below
// folder, where Launch.Folder and Launch.Histogram say. It is judged: Launch.Invalid has the reasons against it. Upstream is what
// the upstream service can serve, as UpstreamCapacity measures it; nil for workloads that do not call it. The error is for a context
// that was cancelled and for an experiment that cannot be run.
func (c Config) Launch(ctx context.Context, e experiment.Experiment, p experiment.Launch, upstream *result.Upstream, folder string) (result.Launch, error) {
	expected, err := c.expected(e.Workload(p.Workload))
	if err != nil {
		return result.Launch{}, err
	}
	l, err := c.launch(ctx, e, p, expected, folder)
	if err != nil {
		return result.Launch{}, err
	}
	run := &result.Run{Experiment: e, Launches: []result.Launch{l}, Upstream: upstream}
	err = stats.Summarise(run, folder)
	return run.Launches[0], err
}
