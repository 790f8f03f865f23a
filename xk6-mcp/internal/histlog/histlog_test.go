package histlog_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/histlog"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

var start = time.UnixMilli(1_700_000_000_000)

func call(after, took time.Duration, kind wire.Kind) *wire.Reply {
	r := &wire.Reply{Start: start.Add(after), End: start.Add(after + took), Timings: wire.Timings{Duration: took}}
	if kind != "" {
		r.Err = &wire.Error{Kind: kind, Message: "because"}
	}
	return r
}

func readSummary(t *testing.T, dir string) histlog.Summary {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, histlog.SummaryFile))
	require.NoError(t, err)
	var s histlog.Summary
	require.NoError(t, json.Unmarshal(data, &s))
	return s
}

func readHistogram(t *testing.T, dir, name string) *hdrhistogram.Histogram {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	r := hdrhistogram.NewHistogramLogReader(bytes.NewReader(data))
	h, err := r.NextIntervalHistogram()
	require.NoError(t, err)
	require.NotNil(t, h)
	more, err := r.NextIntervalHistogram()
	require.NoError(t, err)
	assert.Nil(t, more, "one histogram per file")
	return h
}

func TestTotals(t *testing.T) {
	t.Parallel()
	r := histlog.NewRecorder()
	s := r.Series(histlog.Key{Scenario: "s", Method: "tools/call", Tool: "t", Phase: "measure"})
	s.Add(call(5*time.Millisecond, 2*time.Millisecond, ""), 0)
	s.Add(call(0, 1*time.Millisecond, ""), 0)
	s.Add(call(1*time.Millisecond, 90*time.Millisecond, wire.KindTimeout), 0)
	s.Add(call(1*time.Millisecond, 1*time.Millisecond, wire.KindTool), 0)
	s.Add(call(1*time.Millisecond, 1*time.Millisecond, wire.KindTool), 0)
	s.Add(call(1*time.Millisecond, 1*time.Millisecond, wire.KindInterrupted), 0)
	opened := call(1*time.Millisecond, 1500*time.Nanosecond, "")
	opened.NewConnection = true
	s.Add(opened, 0)
	s.Reject("/n: want 1, got 2")
	s.Reject("another")

	dir := t.TempDir()
	require.NoError(t, r.Write(dir))
	assert.Equal(t, histlog.Summary{Version: 1, Unit: "us", Series: []histlog.Totals{{
		Key: histlog.Key{Scenario: "s", Method: "tools/call", Tool: "t", Phase: "measure"},
		OK:  3, Failed: 1, ToolFailed: 2, Interrupted: 1, Wrong: 2, NewConnections: 1,
		Errors:     map[wire.Kind]int64{wire.KindTimeout: 1, wire.KindTool: 2},
		FirstError: "timeout: because", FirstWrong: "/n: want 1, got 2",
		StartUnixMs: 1_700_000_000_000, EndUnixMs: 1_700_000_000_091, Hlog: "s.measure.tools_call.t.hlog",
	}}}, readSummary(t, dir))

	h := readHistogram(t, dir, "s.measure.tools_call.t.hlog")
	assert.EqualValues(t, 3, h.TotalCount(), "successful calls only")
	assert.EqualValues(t, 2, h.Min(), "1.5 us, rounded")
	assert.InDelta(t, 2000, h.Max(), 1)
	assert.EqualValues(t, 1_700_000_000_000, h.StartTimeMs())
	assert.EqualValues(t, 1_700_000_000_091, h.EndTimeMs())
}

func TestHistogramsMergeWithoutLoss(t *testing.T) {
	t.Parallel()
	merged := hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)
	for _, took := range []time.Duration{time.Microsecond, 10 * time.Second, 2 * time.Hour} {
		r := histlog.NewRecorder()
		r.Series(histlog.Key{Method: "ping"}).Add(call(0, took, ""), 0)
		dir := t.TempDir()
		require.NoError(t, r.Write(dir))
		assert.Zero(t, merged.Merge(readHistogram(t, dir, "ping.hlog")))
	}
	assert.EqualValues(t, 3, merged.TotalCount())
	assert.EqualValues(t, 1, merged.Min())
	assert.InEpsilon(t, 10e6, merged.ValueAtPercentile(50), 0.001)
	assert.InEpsilon(t, 3600e6, merged.Max(), 0.001, "longer than the range counts as its end")
}

func TestSeriesWithoutSuccess(t *testing.T) {
	t.Parallel()
	r := histlog.NewRecorder()
	r.Series(histlog.Key{Method: "ping"}).Add(call(0, time.Second, wire.KindConnect), 0)
	dir := t.TempDir()
	require.NoError(t, r.Write(dir))
	s := readSummary(t, dir)
	require.Len(t, s.Series, 1)
	assert.Empty(t, s.Series[0].Hlog)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1)
}

func TestFileNamesAreSafeAndDiffer(t *testing.T) {
	t.Parallel()
	r := histlog.NewRecorder()
	for _, tool := range []string{"a/b", "a b", "../a", string(make([]byte, 500))} {
		r.Series(histlog.Key{Method: "tools/call", Tool: tool}).Add(call(0, time.Second, ""), 0)
	}
	dir := t.TempDir()
	require.NoError(t, r.Write(dir))
	s := readSummary(t, dir)
	seen := map[string]bool{}
	for _, series := range s.Series {
		assert.Equal(t, filepath.Base(series.Hlog), series.Hlog)
		assert.False(t, seen[series.Hlog])
		seen[series.Hlog] = true
		assert.EqualValues(t, 1, readHistogram(t, dir, series.Hlog).TotalCount())
	}
	assert.Len(t, seen, 4)
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, histlog.Prepare(dir))
	require.NoError(t, histlog.NewRecorder().Write(dir))
	assert.Empty(t, readSummary(t, dir).Series)
	require.NoError(t, histlog.Prepare(dir))
	assert.NoFileExists(t, filepath.Join(dir, histlog.SummaryFile), "an old summary must not pass for this run's")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Error(t, histlog.Prepare(file))
	require.Error(t, histlog.NewRecorder().Write(file))
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	r := histlog.NewRecorder()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				r.Series(histlog.Key{Method: "ping"}).Add(call(0, time.Millisecond, ""), 0)
			}
		})
	}
	wg.Wait()
	dir := t.TempDir()
	require.NoError(t, r.Write(dir))
	assert.EqualValues(t, 800, readSummary(t, dir).Series[0].OK)
}
