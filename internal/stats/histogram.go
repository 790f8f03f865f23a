// Package stats turns raw launches into figures. Everything here is a pure function of a run's raw files.
package stats

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/result"
)

// Interval holds what ended in one second, in microseconds.
type Interval struct {
	// Start is a whole second.
	Start     time.Time
	Histogram *hdrhistogram.Histogram
}

// intervals reads a histogram log (.hlog), which has at most one interval for each second, in the order of time: one after the other, because
// those of a long load do not fit into memory well. An error, for a file that cannot be read or has another form, is the last thing that
// it yields.
func intervals(path string) iter.Seq2[Interval, error] {
	return func(yield func(Interval, error) bool) {
		fail := func(err error) { yield(Interval{}, fmt.Errorf("read the histograms %s: %w", filepath.Base(path), err)) }
		file, err := os.Open(path)
		if err != nil {
			fail(withoutPath(err))
			return
		}
		defer file.Close()
		reader := hdrhistogram.NewHistogramLogReader(file)
		var last time.Time
		for {
			h, err := reader.NextIntervalHistogram()
			if err != nil {
				fail(err)
				return
			}
			if h == nil {
				return
			}
			start, end := time.UnixMilli(h.StartTimeMs()).UTC(), time.UnixMilli(h.EndTimeMs()).UTC()
			if start != start.Truncate(time.Second) || end != start.Add(time.Second) || !start.After(last) {
				fail(fmt.Errorf("wanted whole seconds in the order of time, got %s to %s", start.Format(time.RFC3339Nano), end.Format(time.RFC3339Nano)))
				return
			}
			last = start
			if !yield(Interval{start, h}, nil) {
				return
			}
		}
	}
}

// withoutPath removes the path from an error, which may become a part of a run: a run is the same wherever its folder is.
func withoutPath(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// ReadHistogram reads a histogram log and merges its intervals in the window. The histogram is empty if there are none.
func ReadHistogram(path string, w result.Window) (*hdrhistogram.Histogram, error) {
	h, _, err := readHistogram(path, w)
	return h, err
}

// readHistogram also counts the values of the whole log.
func readHistogram(path string, w result.Window) (h *hdrhistogram.Histogram, all int64, err error) {
	h = newHistogram()
	for interval, err := range intervals(path) {
		if err != nil {
			return nil, 0, err
		}
		all += interval.Histogram.TotalCount()
		if interval.Start.Before(w.Start) || !interval.Start.Before(w.End) {
			continue
		}
		if err := mergeInto(h, interval.Histogram); err != nil {
			return nil, 0, fmt.Errorf("read the histograms %s: %w", filepath.Base(path), err)
		}
	}
	return h, all, nil
}

// newHistogram is an empty histogram in the form of those of k6/x/mcp: microseconds up to an hour, three significant digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Hour.Microseconds(), 3)
}

// Merge adds histograms up. This is how percentiles of several launches are made: an average of percentiles is no percentile.
func Merge(histograms []*hdrhistogram.Histogram) (*hdrhistogram.Histogram, error) {
	merged := newHistogram()
	for _, h := range histograms {
		if err := mergeInto(merged, h); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

func mergeInto(sum, h *hdrhistogram.Histogram) error {
	if dropped := sum.Merge(h); dropped > 0 {
		return fmt.Errorf("merge: %d values are beyond the histogram's range, up to %d", dropped, sum.HighestTrackableValue())
	}
	return nil
}
