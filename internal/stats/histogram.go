// Package stats turns raw launches into figures. Everything here is a pure function of a run's raw files.
package stats

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// ReadHistogram reads a histogram log (.hlog) and merges its intervals.
func ReadHistogram(path string) (*hdrhistogram.Histogram, error) {
	file, err := os.Open(path)
	if err != nil {
		// The error becomes a part of the run, which is the same wherever its folder is.
		var failed *fs.PathError
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("read the histogram %s: %w", filepath.Base(path), err)
	}
	defer file.Close()
	reader := hdrhistogram.NewHistogramLogReader(file)
	var intervals []*hdrhistogram.Histogram
	for {
		interval, err := reader.NextIntervalHistogram()
		if err != nil {
			return nil, fmt.Errorf("read the histogram %s: %w", filepath.Base(path), err)
		}
		if interval == nil {
			break
		}
		intervals = append(intervals, interval)
	}
	merged, err := Merge(intervals)
	if err != nil {
		return nil, fmt.Errorf("read the histogram %s: %w", filepath.Base(path), err)
	}
	return merged, nil
}

// Merge adds histograms up. This is how percentiles of several launches are made: an average of percentiles is no percentile.
func Merge(histograms []*hdrhistogram.Histogram) (*hdrhistogram.Histogram, error) {
	if len(histograms) == 0 {
		return nil, errors.New("there is none")
	}
	merged := histograms[0].Clone()
	for _, h := range histograms[1:] {
		if dropped := merged.Merge(h); dropped > 0 {
			return nil, fmt.Errorf("merge: %d values are beyond the histogram's range, up to %d", dropped, merged.HighestTrackableValue())
		}
	}
	return merged, nil
}
