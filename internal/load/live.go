package load

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// While k6 runs, it appends each finished second to logs with these suffixes: of what was called, and of the time from the intended
// start, under an open load.
const (
	partSuffix         = ".hlog.part"
	responsePartSuffix = ".response.hlog.part"
	lagPartSuffix      = ".lag.hlog.part"
)

// live knows what a launch does at the moment: for the display, and to end its load when the server is steady. It follows the logs that
// k6 is writing whenever it is asked.
type live struct {
	// counted is in the names of the logs of what is counted, and unit says what that is.
	counted, unit string

	mu sync.Mutex
	// phase says it in words, folder has the logs of the load that runs.
	phase  string
	folder string
	logs   map[string]*partLog // by path
	// calls and responses have what the logs had when they were last read: from sending on, and from the intended start on.
	calls, responses stats.Seconds
	// unjudged is set when something was read since steady last judged.
	unjudged bool
}

// partLog is a log that grows.
type partLog struct {
	offset int64     // how far it was read
	newest time.Time // the last second in it
}

func newLive(w experiment.Workload) *live {
	if len(w.Calls) == 0 {
		return &live{counted: "initialize", unit: "sessions/s"}
	}
	return &live{counted: "tools_", unit: "calls/s"}
}

// enter says what the launch does from now on, and where k6 writes; "" for nowhere.
func (l *live) enter(phase, folder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase, l.folder = phase, folder
	l.logs, l.calls, l.responses = map[string]*partLog{}, stats.Seconds{}, stats.Seconds{}
}

// String says what the launch does, with the rate and the 99th percentile of the newest second that is known.
func (l *live) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	if len(l.calls) == 0 {
		return l.phase
	}
	second := slices.MaxFunc(slices.Collect(maps.Keys(l.calls)), time.Time.Compare)
	rate, latency := l.calls[second], l.responses[second]
	if latency == nil { // a closed load
		latency = rate
	}
	return fmt.Sprintf("%s: %d %s, p99 %.3g ms", l.phase, rate.TotalCount(), l.unit, float64(latency.ValueAtPercentile(99))/1000)
}

// steady reports whether the closed load of the workload that runs now may end.
func (l *live) steady(w experiment.Workload) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read(); !l.unjudged {
		return false
	}
	l.unjudged = false
	known := maps.Clone(l.calls)
	for _, log := range l.logs {
		for _, other := range l.logs {
			if log.newest.Before(other.newest) { // k6 writes one log after the other
				delete(known, other.newest)
			}
		}
	}
	return stats.Steady(w, known)
}

// read reads what is new in the logs. What cannot be read is left out: the display shows less then, and the load lasts longer.
func (l *live) read() {
	if l.folder == "" {
		return
	}
	paths, err := filepath.Glob(filepath.Join(l.folder, "*"+partSuffix))
	if err != nil {
		return
	}
	for _, path := range paths {
		if !strings.Contains(filepath.Base(path), l.counted) || strings.HasSuffix(path, lagPartSuffix) {
			continue
		}
		log := l.logs[path]
		if log == nil {
			log = &partLog{}
			l.logs[path] = log
		}
		to := l.calls
		if strings.HasSuffix(path, responsePartSuffix) {
			to = l.responses
		}
		lines := hdrhistogram.NewHistogramLogReader(bytes.NewReader(log.next(path)))
		for {
			h, err := lines.NextIntervalHistogram()
			if err != nil || h == nil {
				break
			}
			log.newest = time.UnixMilli(h.StartTimeMs()).UTC()
			if err := to.Add(stats.Interval{Start: log.newest, Histogram: h}); err != nil {
				break
			}
			l.unjudged = true
		}
	}
}

// next returns the lines that are complete and have not been read.
func (p *partLog) next(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil // it has just got its final name
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, p.offset, 1<<24))
	if err != nil {
		return nil
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	p.offset += int64(len(text))
	return text
}

// left says how long something takes, as a person would.
func left(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute left"
	case d < 90*time.Minute:
		return fmt.Sprintf("about %.0f min left", d.Minutes())
	default:
		return fmt.Sprintf("about %.1f h left", d.Hours())
	}
}
