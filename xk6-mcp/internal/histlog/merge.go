package histlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Row is a series in figures.
type Row struct {
	Totals
	// Duration, Response and Lag are zero where there is nothing to take them from.
	Duration, Response, Lag Percentiles
}

// Percentiles are in microseconds.
type Percentiles struct {
	P50, P95, P99, P999, Max int64
}

// Merge adds up the directories that several runs have written: counts, and histograms second by second,
// without loss. It returns the series in order, and writes them to the directory out in the same format
// unless that is empty. It fails on a directory without a summary, which a run that has died leaves.
func Merge(dirs []string, out string) ([]Row, error) {
	series := map[Key]*merged{}
	for _, dir := range dirs {
		summary, err := readSummary(dir)
		if err != nil {
			return nil, err
		}
		for _, t := range summary.Series {
			m := series[t.Key]
			if m == nil {
				m = &merged{Totals: newTotals(t.Key)}
				series[t.Key] = m
			}
			if err := m.add(dir, t); err != nil {
				return nil, err
			}
		}
	}
	if out != "" {
		if err := prepareOut(out, dirs); err != nil {
			return nil, err
		}
	}
	all := make([]*merged, 0, len(series))
	for _, m := range series {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *merged) int { return compareKeys(a.Key, b.Key) })
	var rows []Row
	var totals []Totals
	taken := map[string]bool{}
	for _, m := range all {
		row, err := m.write(out, fileStem(m.Key, taken))
		if err != nil {
			return nil, err
		}
		rows, totals = append(rows, row), append(totals, row.Totals)
	}
	if out == "" {
		return rows, nil
	}
	return rows, writeSummary(out, totals)
}

// prepareOut makes the directory for the outcome, which must not take the place of what is merged.
func prepareOut(out string, dirs []string) error {
	if to, err := os.Stat(out); err == nil {
		for _, dir := range dirs {
			if from, err := os.Stat(dir); err == nil && os.SameFile(to, from) {
				return fmt.Errorf("%s is merged itself: name another directory for the outcome", out)
			}
		}
	}
	return prepare(out)
}

func readSummary(dir string) (Summary, error) {
	var s Summary
	path := filepath.Join(dir, SummaryFile)
	data, err := os.ReadFile(path) // #nosec G304 -- the caller says what is to be read
	if errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("%s has no %s: is it the directory of K6_MCP_HISTOGRAMS, and has that run ended?", dir, SummaryFile)
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case s.Version == 1:
		return s, fmt.Errorf("%s: version 1 has one histogram for a whole run, this program reads version %d, with one for each second: "+
			"run the test again, or merge with the hlogmerge of that time", path, Version)
	case s.Version != Version || s.Unit != unit || s.IntervalMs != intervalMs:
		return s, fmt.Errorf("%s: version %d in %q by %d ms; this program reads version %d in %q by %d ms",
			path, s.Version, s.Unit, s.IntervalMs, Version, unit, intervalMs)
	}
	return s, nil
}

// merged is a series of several runs.
type merged struct {
	Totals
	sources [kinds][]source
}

// source is one log of a merged series.
type source struct {
	path string
	want int64 // how many values it has
}

func (m *merged) add(dir string, from Totals) error {
	for k := range kinds {
		name, count := from.log(k)
		_, sum := m.log(k)
		*sum += *count
		if *name == "" && *count == 0 {
			continue
		}
		if *name == "" || *name != filepath.Base(*name) {
			return fmt.Errorf("%s: %q is no name of a log of %d values", filepath.Join(dir, SummaryFile), *name, *count)
		}
		m.sources[k] = append(m.sources[k], source{path: filepath.Join(dir, *name), want: *count})
	}
	if m.StartUnixMs == 0 || from.StartUnixMs != 0 && from.StartUnixMs < m.StartUnixMs {
		m.StartUnixMs = from.StartUnixMs
	}
	m.EndUnixMs = max(m.EndUnixMs, from.EndUnixMs)
	m.Failed += from.Failed
	m.ToolFailed += from.ToolFailed
	m.Interrupted += from.Interrupted
	m.Cancelled += from.Cancelled
	m.Wrong += from.Wrong
	m.NewConnections += from.NewConnections
	for kind, n := range from.Errors {
		m.Errors[kind] += n
	}
	if m.FirstError == "" {
		m.FirstError = from.FirstError
	}
	if m.FirstWrong == "" {
		m.FirstWrong = from.FirstWrong
	}
	return nil
}

// write merges the logs, and writes them to the directory out unless that is empty.
func (m *merged) write(out, stem string) (Row, error) {
	var figures [kinds]Percentiles
	for k, sources := range m.sources {
		if len(sources) == 0 {
			continue
		}
		total := newHistogram()
		var to *log
		err := mergeLogs(sources, func(h *hdrhistogram.Histogram) (err error) {
			total.Merge(h) // of the same geometry
			if out == "" {
				return nil
			}
			second := h.StartTimeMs() / intervalMs
			if to == nil {
				if to, err = createLog(out, stem+suffixes[k], meanings[k], m.Key, second); err != nil {
					return err
				}
			}
			return to.append(second, h)
		})
		figures[k] = percentiles(total)
		if to != nil {
			if err != nil {
				return Row{}, errors.Join(err, to.abandon())
			}
			name, _ := m.log(kind(k))
			*name, err = to.finish()
		}
		if err != nil {
			return Row{}, err
		}
	}
	return Row{Totals: m.Totals, Duration: figures[durations], Response: figures[responses], Lag: figures[lags]}, nil
}

// mergeLogs gives the histogram of each second of several logs to a function, in order.
func mergeLogs(sources []source, take func(*hdrhistogram.Histogram) error) error {
	cursors := make([]*cursor, 0, len(sources))
	defer func() {
		for _, c := range cursors {
			_ = c.file.Close() // it was only read
		}
	}()
	for _, s := range sources {
		c, err := s.open()
		if err != nil {
			return err
		}
		cursors = append(cursors, c)
	}
	for {
		first := int64(math.MaxInt64)
		for _, c := range cursors {
			if c.head != nil {
				first = min(first, c.head.StartTimeMs())
			}
		}
		if first == math.MaxInt64 {
			return nil
		}
		var sum *hdrhistogram.Histogram
		for _, c := range cursors {
			if c.head == nil || c.head.StartTimeMs() != first {
				continue
			}
			if sum == nil {
				sum = c.head
			} else {
				sum.Merge(c.head)
			}
			if err := c.next(); err != nil {
				return err
			}
		}
		if err := take(sum); err != nil {
			return err
		}
	}
}

// cursor reads a log.
type cursor struct {
	source
	file   *os.File
	reader *hdrhistogram.HistogramLogReader
	got    int64
	head   *hdrhistogram.Histogram // nil at the end
}

func (s source) open() (*cursor, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	c := &cursor{source: s, file: f, reader: hdrhistogram.NewHistogramLogReader(f)}
	if err := c.next(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return c, nil
}

// next goes on to the next second.
func (c *cursor) next() error {
	last := c.head
	var err error
	switch c.head, err = c.reader.NextIntervalHistogram(); {
	case err != nil:
		return fmt.Errorf("%s: %w", c.path, err)
	case c.head == nil && c.got != c.want:
		return fmt.Errorf("%s has %d values, the summary says %d", c.path, c.got, c.want)
	case c.head == nil:
		return nil
	case c.head.LowestTrackableValue() != lowest || c.head.HighestTrackableValue() != highest || c.head.SignificantFigures() != significantDigits:
		return fmt.Errorf("%s has a histogram of other values than %d to %d with %d digits", c.path, lowest, highest, significantDigits)
	case c.head.StartTimeMs()%intervalMs != 0 || c.head.EndTimeMs() != c.head.StartTimeMs()+intervalMs ||
		last != nil && c.head.StartTimeMs() <= last.StartTimeMs():
		return fmt.Errorf("%s: the interval at %d ms does not follow, or is no whole second", c.path, c.head.StartTimeMs())
	}
	c.got += c.head.TotalCount()
	return nil
}

func percentiles(h *hdrhistogram.Histogram) Percentiles {
	return Percentiles{
		P50: h.ValueAtQuantile(50), P95: h.ValueAtQuantile(95), P99: h.ValueAtQuantile(99),
		P999: h.ValueAtQuantile(99.9), Max: h.Max(),
	}
}
