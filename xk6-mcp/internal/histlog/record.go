package histlog

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Recorder holds the series of one run and writes them to a directory: each second when it is over, the
// summary at the end. It is safe for concurrent use.
type Recorder struct {
	dir        string
	stop, done chan struct{}

	mu     sync.Mutex
	series map[Key]*recorded
	taken  map[string]bool // names of files

	err error // of the writing goroutine, and after it of Close
}

// recorded is a series with its logs, which the writing goroutine has for itself.
type recorded struct {
	Series
	stem string
	logs [kinds]*log
}

// Start makes the directory, removes from it what an earlier run has left, and begins to record.
func Start(dir string) (*Recorder, error) {
	if err := prepare(dir); err != nil {
		return nil, err
	}
	r := &Recorder{
		dir: dir, stop: make(chan struct{}), done: make(chan struct{}),
		series: map[Key]*recorded{}, taken: map[string]bool{},
	}
	go r.write()
	return r, nil
}

// prepare makes a directory in which no file can pass for one of the run that begins.
func prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- results are for others to read
		return err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), partSuffix); name == SummaryFile || strings.HasSuffix(name, suffixes[durations]) {
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Series returns the series of a key, made on first use.
func (r *Recorder) Series(key Key) *Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.series[key]
	if s == nil {
		s = &recorded{stem: fileStem(key, r.taken)}
		s.totals = newTotals(key)
		r.series[key] = s
	}
	return &s.Series
}

func (r *Recorder) sorted() []*recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*recorded, 0, len(r.series))
	for _, s := range r.series {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *recorded) int { return compareKeys(a.totals.Key, b.totals.Key) })
	return all
}

// write appends finished seconds to the logs until Close is called.
func (r *Recorder) write() {
	defer close(r.done)
	for r.err == nil {
		next := time.Now().Truncate(time.Second).Add(time.Second + grace)
		timer := time.NewTimer(time.Until(next))
		select {
		case <-r.stop:
			timer.Stop()
			return
		case <-timer.C:
		}
		before := time.Now().Add(-grace).Unix()
		for _, s := range r.sorted() {
			if _, r.err = r.flush(s, before); r.err != nil {
				break // Close reports it; no summary will be there
			}
		}
	}
}

// flush writes the seconds before this one.
func (r *Recorder) flush(s *recorded, before int64) (Totals, error) {
	intervals, totals := s.take(before)
	for _, i := range intervals {
		for k, h := range i.hists {
			if h == nil {
				continue
			}
			if s.logs[k] == nil {
				var err error
				if s.logs[k], err = createLog(r.dir, s.stem+suffixes[k], meanings[k], totals.Key, i.second); err != nil {
					return totals, err
				}
			}
			if err := s.logs[k].append(i.second, h); err != nil {
				return totals, fmt.Errorf("the histogram of %s %s: %w", totals.Method, totals.Tool, err)
			}
			h.Reset()
			histograms.Put(h)
		}
	}
	return totals, nil
}

// Close writes what is not written yet, gives the logs their names, and then writes the summary. It must
// be called once, and nothing be added after it.
func (r *Recorder) Close() error {
	close(r.stop)
	<-r.done
	var all []Totals
	for _, s := range r.sorted() {
		var totals Totals
		if r.err == nil {
			totals, r.err = r.flush(s, math.MaxInt64)
		}
		for k, l := range s.logs {
			if l == nil {
				continue
			}
			if r.err != nil {
				r.err = errors.Join(r.err, l.abandon())
				continue
			}
			name, _ := totals.log(kind(k))
			*name, r.err = l.finish()
		}
		all = append(all, totals)
	}
	if r.err != nil {
		return r.err
	}
	return writeSummary(r.dir, all)
}
