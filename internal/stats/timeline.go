package stats

import (
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

// Second is what a timeline shows of one second.
type Second struct {
	// At is the beginning of the second.
	At time.Time
	// Calls ended well in it: those of the workload, or the sessions that were opened if it has none.
	Calls int64
	// P50MS and P99MS are their latencies in milliseconds.
	P50MS, P99MS float64
}

// Timeline returns every second of a launch in which calls ended, its warm-up and all steps of a search too, in the order of time. The error
// is for a file that cannot be read.
func Timeline(w experiment.Workload, runDir string, l result.Launch) ([]Second, error) {
	shapes := map[string]string{l.Folder: w.Load.Shape} // by the folder of each load
	if w.Load.Shape == experiment.ShapeSearch {
		shapes = map[string]string{path.Join(l.Folder, WarmupFolder): experiment.ShapeClosed}
		for _, step := range l.Search {
			shapes[step.Folder] = experiment.ShapeOpen
		}
	}
	all := Seconds{}
	for name, shape := range shapes {
		folder := filepath.Join(runDir, filepath.FromSlash(name))
		s, err := ReadSummary(folder)
		if err != nil {
			return nil, err
		}
		if err := s.perSecond(w, shape, folder, all); err != nil {
			return nil, err
		}
	}
	var timeline []Second
	for at, h := range all {
		timeline = append(timeline, Second{at, h.TotalCount(), milliseconds(h.ValueAtPercentile(50)), milliseconds(h.ValueAtPercentile(99))})
	}
	slices.SortFunc(timeline, func(a, b Second) int { return a.At.Compare(b.At) })
	return timeline, nil
}
