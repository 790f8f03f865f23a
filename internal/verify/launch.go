package verify

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// usageFile has the readings of the server's counters.
const usageFile = "usage.csv"

// usageResolution is how far the CPU time recomputed from the readings may be from the stored one. They were cut to microseconds:
// at each end of the window, CPU time is off by less than 1 µs, and by less than what a server uses in 1 µs. For a server on up to
// four CPUs that is less than 10 µs in all.
const usageResolution = 10 * time.Microsecond

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

	samples, err := stats.ReadUsage(filepath.Join(folder, usageFile))
	switch {
	case failed && errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		r.add(l.Folder+"/"+usageFile, "", "%v", err)
		return
	}
	l.Server.MemoryIdleBytes, l.Server.MemoryEndBytes = samples[0].MemoryBytes, samples[len(samples)-1].MemoryBytes
	for _, s := range samples {
		l.Server.MemoryPeakBytes = max(l.Server.MemoryPeakBytes, s.MemoryBytes)
	}
	stored := l.Server.CPUSeconds
	l.Server.CPUSeconds = nil
	if l.Window == nil {
		return
	}
	used, err := stats.CPUBetween(samples, l.Window.Start, l.Window.End)
	if err != nil {
		return // that there is no CPU time makes the launch invalid
	}
	seconds := used.Seconds()
	if stored != nil && max(seconds-*stored, *stored-seconds) <= usageResolution.Seconds() {
		seconds = *stored
	}
	l.Server.CPUSeconds = &seconds
}
