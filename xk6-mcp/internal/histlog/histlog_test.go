package histlog_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/histlog"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.UnixMilli(1_700_000_000_000)

// none is the lag of a call that tells of none.
const none = -1

func call(after, took time.Duration, kind wire.Kind) *wire.Reply {
	r := &wire.Reply{Start: start.Add(after), End: start.Add(after + took), Timings: wire.Timings{Duration: took}}
	if kind != "" {
		r.Err = &wire.Error{Kind: kind, Message: "because"}
	}
	return r
}

// recorded is what a run leaves that makes these calls.
func recorded(t *testing.T, run func(r *histlog.Recorder)) (dir string) {
	t.Helper()
	dir = t.TempDir()
	r, err := histlog.Start(dir)
	require.NoError(t, err)
	run(r)
	require.NoError(t, r.Close())
	return dir
}

func readSummary(t *testing.T, dir string) histlog.Summary {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, histlog.SummaryFile))
	require.NoError(t, err)
	var s histlog.Summary
	require.NoError(t, json.Unmarshal(data, &s))
	return s
}

// readLog reads a log as any tool would: the histograms of its intervals.
func readLog(t *testing.T, dir, name string) (intervals []*hdrhistogram.Histogram) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	r := hdrhistogram.NewHistogramLogReader(bytes.NewReader(data))
	for {
		h, err := r.NextIntervalHistogram()
		require.NoError(t, err)
		if h == nil {
			return intervals
		}
		assert.Zero(t, h.StartTimeMs()%1000, "whole seconds")
		assert.Equal(t, h.StartTimeMs()+1000, h.EndTimeMs())
		intervals = append(intervals, h)
	}
}

func fileNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

func TestTotals(t *testing.T) {
	t.Parallel()
	dir := recorded(t, func(r *histlog.Recorder) {
		s := r.Series(histlog.Key{Scenario: "s", Method: "tools/call", Tool: "t", Phase: "measure"})
		s.Add(call(5*time.Millisecond, 2*time.Millisecond, ""), 0, none)
		s.Add(call(0, 1*time.Millisecond, ""), 0, none)
		s.Add(call(1*time.Millisecond, 90*time.Millisecond, wire.KindTimeout), 0, none)
		s.Add(call(1*time.Millisecond, 1*time.Millisecond, wire.KindTool), 0, none)
		s.Add(call(1*time.Millisecond, 1*time.Millisecond, wire.KindTool), 0, none)
		s.Add(call(1*time.Millisecond, 1*time.Millisecond, wire.KindInterrupted), 0, none)
		opened := call(1*time.Millisecond, 1500*time.Nanosecond, "")
		opened.NewConnection = true
		s.Add(opened, 0, none)
		s.Reject("/n: want 1, got 2")
		s.Reject("another")
	})
	assert.Equal(t, histlog.Summary{Version: 2, Unit: "us", IntervalMs: 1000, Series: []histlog.Totals{{
		Key: histlog.Key{Scenario: "s", Method: "tools/call", Tool: "t", Phase: "measure"},
		OK:  3, Failed: 1, ToolFailed: 2, Interrupted: 1, Wrong: 2, NewConnections: 1,
		Errors:     map[wire.Kind]int64{wire.KindTimeout: 1, wire.KindTool: 2},
		FirstError: "timeout: because", FirstWrong: "/n: want 1, got 2",
		StartUnixMs: 1_700_000_000_000, EndUnixMs: 1_700_000_000_091, Hlog: "s.measure.tools_call.t.hlog",
	}}}, readSummary(t, dir))
	assert.Equal(t, []string{"s.measure.tools_call.t.hlog", "summary.json"}, fileNames(t, dir))

	intervals := readLog(t, dir, "s.measure.tools_call.t.hlog")
	require.Len(t, intervals, 1)
	h := intervals[0]
	assert.EqualValues(t, 3, h.TotalCount(), "successful calls only")
	assert.EqualValues(t, 2, h.Min(), "1.5 us, rounded")
	assert.InDelta(t, 2000, h.Max(), 1)
	assert.EqualValues(t, 1_700_000_000_000, h.StartTimeMs())
}

// A call counts in the second in which it ended; seconds without one are left out.
func TestSeconds(t *testing.T) {
	t.Parallel()
	dir := recorded(t, func(r *histlog.Recorder) {
		s := r.Series(histlog.Key{Method: "ping"})
		s.Add(call(3*time.Second, time.Millisecond, ""), time.Second, 7*time.Millisecond)
		s.Add(call(0, 999*time.Millisecond, ""), 0, 0)
		s.Add(call(0, time.Second, ""), 0, none)
		s.Add(call(0, time.Second, wire.KindTool), 0, 2*time.Millisecond)
		s.Add(call(0, 5*time.Second, wire.KindTool), 0, none)
	})
	type second struct{ at, count, least int64 }
	seconds := func(name string) (got []second) {
		for _, h := range readLog(t, dir, name) {
			got = append(got, second{h.StartTimeMs() - start.UnixMilli(), h.TotalCount(), h.Min() / 100 * 100})
		}
		return got
	}
	assert.Equal(t, []second{{0, 1, 998_900}, {1000, 1, 999_900}, {3000, 1, 1000}}, seconds("ping.hlog"))
	assert.Equal(t, []second{{3000, 1, 999_900}}, seconds("ping.response.hlog"))
	assert.Equal(t, []second{{0, 1, 0}, {1000, 1, 2000}, {3000, 1, 7000}}, seconds("ping.lag.hlog"), "of failed calls too")
	s := readSummary(t, dir).Series[0]
	assert.EqualValues(t, [3]int64{3, 1, 3}, [3]int64{s.OK, s.Responses, s.Lags})
	assert.Equal(t, [3]string{"ping.hlog", "ping.response.hlog", "ping.lag.hlog"}, [3]string{s.Hlog, s.ResponseHlog, s.LagHlog})
}

// Seconds that are over are there before the end of the run, in the text that they will have after it.
func TestLogsGrow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := histlog.Start(dir)
	require.NoError(t, err)
	s := r.Series(histlog.Key{Method: "ping"})
	now := func() *wire.Reply {
		now := time.Now()
		return &wire.Reply{Start: now, End: now, Timings: wire.Timings{Duration: time.Millisecond}}
	}
	first := now()
	s.Add(first, 0, none)
	part := filepath.Join(dir, "ping.hlog.part")
	var grown []byte
	require.Eventually(t, func() bool {
		s.Add(now(), 0, none)
		grown, _ = os.ReadFile(part)
		return bytes.Count(grown, []byte("\n")) > 5
	}, 20*time.Second, 10*time.Millisecond)
	assert.NoFileExists(t, filepath.Join(dir, "ping.hlog"))
	assert.True(t, bytes.HasSuffix(grown, []byte("\n")), "whole lines")
	assert.Equal(t, first.End.Unix()*1000, readLog(t, dir, "ping.hlog.part")[0].StartTimeMs())

	s.Add(first, 0, none) // its second has been written: it comes too late for that, and is not lost
	require.NoError(t, r.Close())
	text, err := os.ReadFile(filepath.Join(dir, "ping.hlog"))
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(text, grown))
	assert.NoFileExists(t, part)
	var sum int64
	for _, h := range readLog(t, dir, "ping.hlog") {
		sum += h.TotalCount()
	}
	assert.Equal(t, readSummary(t, dir).Series[0].OK, sum)
}

func TestLongerThanTheRange(t *testing.T) {
	t.Parallel()
	dir := recorded(t, func(r *histlog.Recorder) {
		r.Series(histlog.Key{Method: "ping"}).Add(call(0, 2*time.Hour, ""), 0, none)
	})
	assert.InEpsilon(t, 3600e6, readLog(t, dir, "ping.hlog")[0].Max(), 0.001, "counts as the end of the range")
}

func TestSeriesWithoutSuccess(t *testing.T) {
	t.Parallel()
	dir := recorded(t, func(r *histlog.Recorder) {
		r.Series(histlog.Key{Method: "ping"}).Add(call(0, time.Second, wire.KindConnect), 0, none)
	})
	s := readSummary(t, dir)
	require.Len(t, s.Series, 1)
	assert.Empty(t, s.Series[0].Hlog)
	assert.Equal(t, []string{histlog.SummaryFile}, fileNames(t, dir))
}

func TestFileNamesAreSafeAndDiffer(t *testing.T) {
	t.Parallel()
	dir := recorded(t, func(r *histlog.Recorder) {
		for _, tool := range []string{"a/b", "a b", "../a", string(make([]byte, 500))} {
			r.Series(histlog.Key{Method: "tools/call", Tool: tool}).Add(call(0, time.Second, ""), 0, none)
		}
	})
	seen := map[string]bool{}
	for _, series := range readSummary(t, dir).Series {
		assert.Equal(t, filepath.Base(series.Hlog), series.Hlog)
		assert.False(t, seen[series.Hlog])
		seen[series.Hlog] = true
		assert.EqualValues(t, 1, readLog(t, dir, series.Hlog)[0].TotalCount())
	}
	assert.Len(t, seen, 4)
}

// What an earlier run has left must not pass for this run's.
func TestStart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		r, err := histlog.Start(dir)
		require.NoError(t, err)
		assert.Empty(t, fileNames(t, dir))
		require.NoError(t, r.Close())
		assert.Empty(t, readSummary(t, dir).Series)
		for _, name := range []string{"x.hlog", "x.lag.hlog.part"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		}
	}
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := histlog.Start(file)
	require.Error(t, err)
	r, err := histlog.Start(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"file"}, fileNames(t, dir), "what is not ours stays")
	require.NoError(t, r.Close())
}

// A directory that goes away while the run goes on leaves no summary, and is an error at the end.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := histlog.Start(dir)
	require.NoError(t, err)
	require.NoError(t, os.Remove(dir))
	r.Series(histlog.Key{Method: "ping"}).Add(call(0, time.Second, ""), 0, none)
	time.Sleep(1500 * time.Millisecond)
	require.ErrorContains(t, r.Close(), "ping.hlog.part")
	assert.NoFileExists(t, dir)
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	const calls = 200
	var wg sync.WaitGroup
	dir := recorded(t, func(r *histlog.Recorder) {
		for range 8 {
			wg.Go(func() {
				for range calls {
					now := time.Now()
					r.Series(histlog.Key{Method: "ping"}).Add(&wire.Reply{Start: now, End: now}, 0, 0)
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		wg.Wait()
	})
	s := readSummary(t, dir).Series[0]
	assert.EqualValues(t, 8*calls, s.OK)
	for _, name := range []string{s.Hlog, s.LagHlog} {
		var sum int64
		for _, h := range readLog(t, dir, name) {
			sum += h.TotalCount()
		}
		assert.EqualValues(t, 8*calls, sum)
	}
	text, err := os.ReadFile(filepath.Join(dir, s.Hlog))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(text), "#[Histogram log format version 1.3]\n"))
}
