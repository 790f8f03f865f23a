package stats

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

// What a load leaves in its folder beside the histograms: k6/x/mcp writes SummaryFile, the scripts write IterationsFile.
const (
	SummaryFile    = "summary.json"
	SummaryVersion = 2
	IterationsFile = "iterations.json"
)

// Summary is the content of SummaryFile, as far as it is used here.
type Summary struct {
	Version int `json:"version"`
	// Series are those of the load. What open.js sends before it, to open sessions, is not among them.
	Series []Series `json:"series"`
}

// scenarioConnect is the scenario of open.js in which users open their sessions before the load.
const scenarioConnect = "connect"

// Series are the requests of one method and tool.
type Series struct {
	Scenario   string `json:"scenario"`
	Method     string `json:"method"`
	Tool       string `json:"tool"`
	OK         int64  `json:"ok"`
	Failed     int64  `json:"failed"`
	ToolFailed int64  `json:"tool_failed"`
	// Interrupted calls were cut off by the end of k6, cancelled ones by the script. The scripts let every call end, so there is none of
	// either in a good launch.
	Interrupted int64  `json:"interrupted"`
	Cancelled   int64  `json:"cancelled"`
	Wrong       int64  `json:"wrong"`
	FirstError  string `json:"first_error"`
	FirstWrong  string `json:"first_wrong"`
	StartUnixMS int64  `json:"start_unix_ms"`
	EndUnixMS   int64  `json:"end_unix_ms"`
	// Histogram is the log of the OK requests from their sending on; empty when there are none.
	Histogram string `json:"hlog"`
	// ResponseHistogram is the log of Responses from the intended start of their iteration on: those that were the first call in it,
	// under an open load.
	Responses         int64  `json:"responses"`
	ResponseHistogram string `json:"response_hlog"`
	// LagHistogram is the log of how late the iterations began of which these were the first request, under an open load.
	Lags         int64  `json:"lags"`
	LagHistogram string `json:"lag_hlog"`
}

// operation is what the series is about.
func (s Series) operation() result.Operation { return result.Operation{Method: s.Method, Tool: s.Tool} }

// ReadSummary reads the summary in the folder of a load.
func ReadSummary(folder string) (Summary, error) {
	var s Summary
	if err := readJSON(filepath.Join(folder, SummaryFile), &s); err != nil {
		return Summary{}, fmt.Errorf("read k6's summary: %w", err)
	}
	if s.Version != SummaryVersion {
		return Summary{}, fmt.Errorf("read k6's summary: it has version %d, wanted %d", s.Version, SummaryVersion)
	}
	s.Series = slices.DeleteFunc(s.Series, func(one Series) bool { return one.Scenario == scenarioConnect })
	seen := map[result.Operation]bool{}
	for _, one := range s.Series {
		if seen[one.operation()] {
			return Summary{}, fmt.Errorf("read k6's summary: it has two series for %s", one.operation().Name())
		}
		seen[one.operation()] = true
	}
	return s, nil
}

// readDropped reads how many iterations were due and could not begin.
func readDropped(folder string) (int64, error) {
	var iterations struct {
		Dropped *int64 `json:"dropped_iterations"`
	}
	err := readJSON(filepath.Join(folder, IterationsFile), &iterations)
	if err == nil && iterations.Dropped == nil {
		err = errors.New("it has no dropped_iterations")
	}
	if err != nil {
		return 0, fmt.Errorf("read k6's count of iterations: %w", err)
	}
	return *iterations.Dropped, nil
}

func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return withoutPath(err)
	}
	return json.Unmarshal(text, to)
}

// Span is the time from the first request's start to the last one's end; zero times if there was none.
func (s Summary) Span() (first, last time.Time) {
	for _, one := range s.Series {
		if one.StartUnixMS == 0 {
			continue
		}
		if start := time.UnixMilli(one.StartUnixMS).UTC(); first.IsZero() || start.Before(first) {
			first = start
		}
		if end := time.UnixMilli(one.EndUnixMS).UTC(); end.After(last) {
			last = end
		}
	}
	return first, last
}

// counted reports whether an operation is what a workload is counted in: its calls, or the sessions that it opens if it has none.
func counted(w experiment.Workload, o result.Operation) bool {
	if len(w.Calls) == 0 {
		return o.Method == methodInitialize
	}
	return o.IsCall()
}

const methodInitialize = "initialize"

// latencyLog is the log of a series from which latencies are taken, and how many values it must hold. Under an open load the wait for
// a server that has fallen behind is a part of the latency (Tene's coordinated omission).
func (s Series) latencyLog(shape string) (file string, values int64) {
	if shape != experiment.ShapeClosed && s.Responses > 0 {
		return s.ResponseHistogram, s.Responses
	}
	return s.Histogram, s.OK
}

// readLog reads a log of a load's folder within the window. The error is also for a log that holds more or fewer values than the
// summary counts.
func readLog(folder, file string, values int64, w result.Window) (*hdrhistogram.Histogram, error) {
	if values == 0 {
		return newHistogram(), nil
	}
	h, all, err := readHistogram(filepath.Join(folder, file), w)
	if err == nil && all != values {
		err = fmt.Errorf("the histograms %s hold %d values, but %s counts %d", file, all, SummaryFile, values)
	}
	return h, err
}

// perSecond adds to the histogram of each second the latencies of what the workload is counted in.
func (s Summary) perSecond(w experiment.Workload, shape, folder string, seconds Seconds) error {
	for _, one := range s.Series {
		file, values := one.latencyLog(shape)
		if !counted(w, one.operation()) || values == 0 {
			continue
		}
		for interval, err := range intervals(filepath.Join(folder, file)) {
			if err != nil {
				return err
			}
			if err := seconds.Add(interval); err != nil {
				return fmt.Errorf("read the histograms %s: %w", file, err)
			}
		}
	}
	return nil
}
