// Package histlog keeps full latency histograms of MCP calls and writes them as HdrHistogram logs
// (V2 encoding), which any HdrHistogram tool reads and merges. Percentiles of several runs are taken
// from merged histograms: they cannot be averaged.
package histlog

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// The histograms count microseconds up to one hour with three significant digits. All logs have the
// same geometry, so that any two can be merged without loss.
const (
	lowest            = 1
	highest           = int64(time.Hour / time.Microsecond)
	significantDigits = 3
)

// Key says which calls a series is about.
type Key struct {
	Scenario string `json:"scenario"`
	Method   string `json:"method"`
	Tool     string `json:"tool"` // tools/call only
	Phase    string `json:"phase"`
}

func compareKeys(a, b Key) int {
	return cmp.Or(
		cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Phase, b.Phase),
		cmp.Compare(a.Method, b.Method), cmp.Compare(a.Tool, b.Tool),
	)
}

// Recorder holds the series of one run. It is safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex
	series map[Key]*Series
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder {
	return &Recorder{series: map[Key]*Series{}}
}

// Series returns the series of a key, made on first use.
func (r *Recorder) Series(key Key) *Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.series[key]
	if s == nil {
		s = &Series{totals: Totals{Key: key, Errors: map[wire.Kind]int64{}}, hist: newHistogram()}
		r.series[key] = s
	}
	return s
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(lowest, highest, significantDigits)
}

func (r *Recorder) sorted() []*Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Series, 0, len(r.series))
	for _, s := range r.series {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Series) int { return compareKeys(a.totals.Key, b.totals.Key) })
	return all
}

// Totals are the counts of a series. Every call is in exactly one of OK, Failed, ToolFailed, Interrupted
// and Cancelled.
type Totals struct {
	Key
	// OK calls have a result without isError; only they are in the histogram.
	OK int64 `json:"ok"`
	// Failed calls have no valid result.
	Failed int64 `json:"failed"`
	// ToolFailed calls have a result with isError.
	ToolFailed int64 `json:"tool_failed"`
	// Interrupted calls were in flight when the run ended and had no more time.
	Interrupted int64 `json:"interrupted"`
	// Cancelled calls were given up by the script. Absent when there are none.
	Cancelled int64 `json:"cancelled,omitempty"`
	// Wrong is how many of the OK answers the script has rejected.
	Wrong int64 `json:"wrong"`
	// NewConnections is how many calls had to open a connection first. The histogram is without that
	// time, as k6's own durations are.
	NewConnections int64 `json:"new_connections"`
	// Errors counts Failed and ToolFailed by kind.
	Errors     map[wire.Kind]int64 `json:"errors"`
	FirstError string              `json:"first_error,omitempty"`
	FirstWrong string              `json:"first_wrong,omitempty"`
	// StartUnixMs is when the first call began, EndUnixMs when the last one ended.
	StartUnixMs int64 `json:"start_unix_ms"`
	EndUnixMs   int64 `json:"end_unix_ms"`
	// Hlog is the histogram's file, beside the summary; absent when OK is 0.
	Hlog string `json:"hlog,omitempty"`
	// Responses is how many of the OK calls are in the histogram of response times from the intended
	// start, which ResponseHlog names: those of arrival-rate executors that were the first of their
	// iteration. Absent when it is 0.
	Responses    int64  `json:"responses,omitempty"`
	ResponseHlog string `json:"response_hlog,omitempty"`
}

// Series are the calls of one key. It is safe for concurrent use.
type Series struct {
	mu     sync.Mutex
	totals Totals
	hist   *hdrhistogram.Histogram
	// responses is nil until there is one: most series have none.
	responses *hdrhistogram.Histogram
}

// Add counts a call. response is its time from the intended start, 0 when there is no such time.
func (s *Series) Add(r *wire.Reply, response time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.totals
	if start := r.Start.UnixMilli(); t.StartUnixMs == 0 || start < t.StartUnixMs {
		t.StartUnixMs = start
	}
	t.EndUnixMs = max(t.EndUnixMs, r.End.UnixMilli())
	if r.NewConnection {
		t.NewConnections++
	}
	if r.Err == nil {
		t.OK++
		record(s.hist, r.Timings.Duration)
		if response > 0 {
			if s.responses == nil {
				s.responses = newHistogram()
			}
			t.Responses++
			record(s.responses, response)
		}
		return
	}
	switch r.Err.Kind {
	case wire.KindInterrupted:
		t.Interrupted++
		return
	case wire.KindCancelled:
		t.Cancelled++
		return
	case wire.KindTool:
		t.ToolFailed++
	default:
		t.Failed++
	}
	t.Errors[r.Err.Kind]++
	if t.FirstError == "" {
		t.FirstError = r.Err.Error()
	}
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	// The value is in range, so that recording cannot fail.
	_ = h.RecordValue(min(d.Round(time.Microsecond).Microseconds(), highest))
}

// Reject counts an answer that was counted as OK and is not the right one.
func (s *Series) Reject(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.Wrong++
	if s.totals.FirstWrong == "" {
		s.totals.FirstWrong = why
	}
}
