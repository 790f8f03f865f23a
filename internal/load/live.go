package load

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
)

// While k6 runs, it appends each finished second to logs with these suffixes: of what was called, and of the time from the intended
// start, under an open load.
const (
	partSuffix         = ".hlog.part"
	responsePartSuffix = ".response.hlog.part"
	lagPartSuffix      = ".lag.hlog.part"
)

// live knows what a launch does at the moment, for the display.
type live struct {
	// counted is in the names of the logs of what is counted, and unit says what that is.
	counted, unit string

	mu sync.Mutex
	// phase says it in words, folder has the logs of the load that runs.
	phase  string
	folder string
	logs   map[string]*partLog
}

func newLive(w experiment.Workload) *live {
	unit := "calls/s"
	if len(w.Calls) == 0 {
		unit = "sessions/s"
	}
	return &live{counted: countedName(w), unit: unit}
}

// countedName is in the names of the logs of what the workload is counted in.
func countedName(w experiment.Workload) string {
	if len(w.Calls) == 0 {
		return "initialize"
	}
	return "tools_"
}

// countedLogs returns the paths of the logs that k6 is writing of what is counted.
func countedLogs(folder, counted string) []string {
	paths, err := filepath.Glob(filepath.Join(folder, "*"+partSuffix))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		return !strings.Contains(filepath.Base(path), counted) || strings.HasSuffix(path, lagPartSuffix)
	})
}

// enter says what the launch does from now on, and where k6 writes; "" for nowhere.
func (l *live) enter(phase, folder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase, l.folder, l.logs = phase, folder, map[string]*partLog{}
}

// String says what the launch does, with the rate and the 99th percentile of the newest second that is known. It is for a display, so
// that what cannot be read is left out.
func (l *live) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.folder == "" {
		return l.phase
	}
	var calls, responses []*partLog
	var second int64
	for _, path := range countedLogs(l.folder, l.counted) {
		log, known := l.logs[path]
		if !known {
			log = &partLog{}
			l.logs[path] = log
		}
		if log.follow(path); log.newest == nil {
			continue
		}
		if strings.HasSuffix(path, responsePartSuffix) {
			responses = append(responses, log)
		} else {
			calls = append(calls, log)
			second = max(second, log.newest.StartTimeMs())
		}
	}
	rate, latency := merge(calls, second), merge(responses, second)
	if rate == nil {
		return l.phase
	}
	if latency == nil { // a closed load
		latency = rate
	}
	return fmt.Sprintf("%s: %d %s, p99 %.3g ms", l.phase, rate.TotalCount(), l.unit, float64(latency.ValueAtPercentile(99))/1000)
}

// merge adds up what the logs have for the second; nil for nothing.
func merge(logs []*partLog, second int64) *hdrhistogram.Histogram {
	var sum *hdrhistogram.Histogram
	for _, log := range logs {
		switch {
		case log.newest.StartTimeMs() != second:
		case sum == nil:
			sum = log.newest.Clone()
		default:
			sum.Merge(log.newest)
		}
	}
	return sum
}

// partLog follows a histogram log that grows.
type partLog struct {
	offset int64
	newest *hdrhistogram.Histogram
}

// newLines returns the lines that are complete and come after the offset, and moves it.
func newLines(path string, offset *int64) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil // it has just got its final name
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, *offset, 1<<24))
	if err != nil {
		return nil
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	*offset += int64(len(text))
	return text
}

// follow reads what is new.
func (p *partLog) follow(path string) {
	text := newLines(path, &p.offset)
	// Only the last line is of interest, and reading a histogram takes time.
	last := text[bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')+1:]
	if h, err := hdrhistogram.NewHistogramLogReader(bytes.NewReader(last)).NextIntervalHistogram(); err == nil && h != nil {
		p.newest = h
	}
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
