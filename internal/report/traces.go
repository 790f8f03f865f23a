package report

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// trace is a valid launch with its raw files read.
type trace struct {
	name    string
	style   int
	launch  result.Launch
	latency *hdrhistogram.Histogram
	// seconds are those from the first call on.
	seconds []stats.Second
	// usage ends with the window.
	usage []stats.Sample
}

// read returns the valid launches under a workload, by subject and in the order in which they were made; without those that were made
// only to be compared with another of the same subject.
func read(run *result.Run, w experiment.Workload, dir string) ([]trace, error) {
	var traces []trace
	for _, subject := range w.Subjects {
		nth := 0
		for _, l := range run.Launches {
			if l.Workload != w.Name || l.Subject != subject || l.Again {
				continue
			}
			nth++
			if len(l.Invalid) > 0 {
				continue
			}
			t := trace{name: subject, style: styleOf(run, subject), launch: l}
			if w.Launches > 1 {
				t.name = fmt.Sprintf("%s #%d", subject, nth)
			}
			if err := t.read(w, dir); err != nil {
				return nil, fmt.Errorf("launch %d: %w", l.Number, err)
			}
			traces = append(traces, t)
		}
	}
	return traces, nil
}

// read reads the raw files of the launch.
func (t *trace) read(w experiment.Workload, dir string) error {
	l := t.launch
	if reasons := stats.Judge(w, l); len(reasons) > 0 {
		return fmt.Errorf("it is not valid: %s", strings.Join(reasons, "; "))
	}
	var counted int64
	var logs []*hdrhistogram.Histogram
	for _, o := range l.Operations {
		if !o.IsCall() && (len(w.Calls) > 0 || o.Method != "initialize") {
			continue
		}
		h, err := stats.ReadHistogram(filepath.Join(dir, filepath.FromSlash(o.Histogram)), *l.Window)
		if err != nil {
			return err
		}
		logs, counted = append(logs, h), counted+o.OK
	}
	var err error
	if t.latency, err = stats.Merge(logs); err != nil {
		return err
	}
	if n := t.latency.TotalCount(); n != counted || n == 0 {
		return fmt.Errorf("the histograms hold %d calls in the window, but %d were counted", n, counted)
	}
	if t.seconds, err = stats.Timeline(w, dir, l); err != nil {
		return err
	}
	if t.usage, err = stats.ReadUsage(filepath.Join(dir, filepath.FromSlash(l.Folder))); err != nil {
		return err
	}
	t.usage = slices.DeleteFunc(t.usage, func(s stats.Sample) bool { return s.At.After(l.Window.End) })
	if len(t.usage) == 0 {
		return errors.New("the server's CPU time and memory were not read before the window ended")
	}
	return nil
}

// styleOf numbers the subject, so that it looks the same in all plots.
func styleOf(run *result.Run, subject string) int {
	return slices.Index(run.Experiment.Subjects, subject)
}
