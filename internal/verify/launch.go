package verify

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// observe replaces what was observed in a launch by what its raw files tell. What they do not tell is left as it is, as is all of a
// file that a failed launch did not come to write: no figure is taken from that launch.
func (r *Result) observe(dir string, w experiment.Workload, l *result.Launch) {
	folder := filepath.Join(dir, filepath.FromSlash(l.Folder))
	failed := l.Failure != ""
	// The counts of a k6 that had to be killed are not read.
	if killed := failed && l.Generator.ExitCode < 0; !killed {
		summary, err := stats.ReadSummary(folder)
		switch {
		case err == nil:
			observed := result.Launch{Folder: l.Folder}
			summary.Record(w, &observed)
			l.Window, l.Counts, l.FirstError, l.Histogram = observed.Window, observed.Counts, observed.FirstError, observed.Histogram
		case failed && errors.Is(err, fs.ErrNotExist):
			l.Window, l.Counts, l.FirstError, l.Histogram = nil, result.Counts{}, "", ""
		default:
			r.add(l.Folder+"/"+stats.SummaryFile, "", "%v", err)
		}
	}

	samples, err := stats.ReadUsage(folder)
	switch {
	case failed && errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		r.add(l.Folder+"/"+stats.UsageFile, "", "%v", err)
		return
	}
	first, last := samples[0], samples[len(samples)-1]
	l.Server = result.Server{MemoryIdleBytes: first.MemoryBytes, MemoryPeakBytes: last.PeakBytes, MemoryEndBytes: last.MemoryBytes}
	if l.Window == nil {
		return
	}
	// Where the readings do not reach from start to end there is no CPU time, which makes the launch invalid.
	if used, err := stats.CPUBetween(samples, l.Window.Start, l.Window.End); err == nil {
		seconds := used.Seconds()
		l.Server.CPUSeconds = &seconds
	}
}
