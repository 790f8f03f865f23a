package histlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Merge adds what Write has written to a directory: counts are added up, histograms merged without
// loss. It fails on a directory without a summary, which a run that has died leaves.
func (r *Recorder) Merge(dir string) error {
	path := filepath.Join(dir, SummaryFile)
	data, err := os.ReadFile(path) // #nosec G304 -- the caller says what is to be read
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s has no %s: is it the directory of K6_MCP_HISTOGRAMS, and has that run ended?", dir, SummaryFile)
	}
	if err != nil {
		return err
	}
	var summary Summary
	if err := json.Unmarshal(data, &summary); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if summary.Version != 1 || summary.Unit != "us" {
		return fmt.Errorf("%s: version %d in %q; this program reads version 1 in \"us\"", path, summary.Version, summary.Unit)
	}
	for _, t := range summary.Series {
		hist, err := readLog(dir, t.Hlog, t.OK)
		if err != nil {
			return err
		}
		responses, err := readLog(dir, t.ResponseHlog, t.Responses)
		if err != nil {
			return err
		}
		r.Series(t.Key).merge(t, hist, responses)
	}
	return nil
}

// readLog returns the histograms of a log as one, nil when there is no log.
func readLog(dir, name string, want int64) (*hdrhistogram.Histogram, error) {
	if name == "" && want == 0 {
		return nil, nil // nothing was counted
	}
	if name == "" || name != filepath.Base(name) {
		return nil, fmt.Errorf("%s: %q is no name of a log of %d calls", filepath.Join(dir, SummaryFile), name, want)
	}
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path) // #nosec G304 -- in the directory that the caller named
	if err != nil {
		return nil, err
	}
	total := newHistogram()
	reader := hdrhistogram.NewHistogramLogReader(bytes.NewReader(data))
	for {
		h, err := reader.NextIntervalHistogram()
		if h == nil && (err == nil || errors.Is(err, io.EOF)) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if dropped := total.Merge(h); dropped > 0 {
			return nil, fmt.Errorf("%s: %d values are out of range", path, dropped)
		}
	}
	if got := total.TotalCount(); got != want {
		return nil, fmt.Errorf("%s has %d values, the summary says %d", path, got, want)
	}
	return total, nil
}

func (s *Series) merge(from Totals, hist, responses *hdrhistogram.Histogram) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.totals
	if t.StartUnixMs == 0 || from.StartUnixMs != 0 && from.StartUnixMs < t.StartUnixMs {
		t.StartUnixMs = from.StartUnixMs
	}
	t.EndUnixMs = max(t.EndUnixMs, from.EndUnixMs)
	t.OK += from.OK
	t.Failed += from.Failed
	t.ToolFailed += from.ToolFailed
	t.Interrupted += from.Interrupted
	t.Cancelled += from.Cancelled
	t.Wrong += from.Wrong
	t.NewConnections += from.NewConnections
	t.Responses += from.Responses
	for kind, n := range from.Errors {
		t.Errors[kind] += n
	}
	if t.FirstError == "" {
		t.FirstError = from.FirstError
	}
	if t.FirstWrong == "" {
		t.FirstWrong = from.FirstWrong
	}
	if hist != nil {
		s.hist.Merge(hist)
	}
	if responses != nil {
		if s.responses == nil {
			s.responses = newHistogram()
		}
		s.responses.Merge(responses)
	}
}

// Totals returns the counts so far.
func (s *Series) Totals() Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.totals
	t.Errors = maps.Clone(t.Errors)
	return t
}

// Percentiles are of the successful calls of a series, in microseconds.
type Percentiles struct {
	P50, P95, P99, P999, Max int64
}

// All returns the series in order, each with the percentiles of its durations and, where there are
// some, of its response times from the intended start.
func (r *Recorder) All() (all []Row) {
	for _, s := range r.sorted() {
		row := Row{Totals: s.Totals()}
		s.mu.Lock()
		row.Duration, row.Response = percentiles(s.hist), percentiles(s.responses)
		s.mu.Unlock()
		all = append(all, row)
	}
	return all
}

// Row is a series in figures.
type Row struct {
	Totals
	Duration, Response Percentiles
}

func percentiles(h *hdrhistogram.Histogram) (p Percentiles) {
	if h == nil {
		return p
	}
	return Percentiles{
		P50: h.ValueAtQuantile(50), P95: h.ValueAtQuantile(95), P99: h.ValueAtQuantile(99),
		P999: h.ValueAtQuantile(99.9), Max: h.Max(),
	}
}
