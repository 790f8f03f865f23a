package verify

import (
	"fmt"
	"path/filepath"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/search"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// observe replaces what was observed in a launch, the i-th of the run, by what its raw files tell. What they do not tell is left as it is.
func (r *Result) observe(dir string, w experiment.Workload, b result.Budget, i int, l *result.Launch) {
	if err := stats.Observe(w, b, dir, l); err != nil {
		r.add(l.Folder, "", "%v", err)
		return
	}
	if w.Load.Shape == experiment.ShapeSearch && l.Failure == "" {
		r.search(dir, w, i, *l)
	}
}

// search checks that a launch tried the rates that follow from what came of those before.
func (r *Result) search(dir string, w experiment.Workload, i int, l result.Launch) {
	warmup := filepath.Join(dir, filepath.FromSlash(l.Folder), stats.WarmupFolder)
	start, err := search.Start(w, warmup)
	if err != nil {
		r.add(l.Folder, "", "%v", err)
		return
	}
	place := fmt.Sprintf("/launches/%d/search", i)
	for n, s := range l.Search {
		rate, confirming, done := search.Next(start, l.Search[:n])
		if done {
			r.add(result.RunFile, place, "stored %d steps, but the search ends after %d", len(l.Search), n)
			return
		}
		if s.AskedPerSecond != float64(rate) || s.Confirming != confirming {
			r.add(result.RunFile, fmt.Sprintf("%s/%d", place, n), "stored a rate of %v (confirming: %v), but the search goes on with %d (confirming: %v)",
				s.AskedPerSecond, s.Confirming, rate, confirming)
			return
		}
		if want := fmt.Sprintf("%s/steps/%02d-r%d", l.Folder, n+1, rate); s.Folder != want {
			r.add(result.RunFile, fmt.Sprintf("%s/%d/folder", place, n), "stored %s, wanted %s", s.Folder, want)
		}
	}
	if rate, _, done := search.Next(start, l.Search); !done && l.Generator.ExitCode == 0 {
		r.add(result.RunFile, place, "stored %d steps, but the search goes on with %d", len(l.Search), rate)
	}
}
