// Package histlog keeps full latency histograms of MCP calls, one for each second, and writes them as
// HdrHistogram logs (V2 encoding), which any HdrHistogram tool reads and merges. Percentiles of several
// runs are taken from merged histograms: they cannot be averaged.
package histlog

import (
	"cmp"
	"maps"
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

// grace is how long after the end of a second its calls may still be counted in it: a goroutine that
// was put aside between the end of its call and Add. One that comes later counts in the next second.
const grace = 200 * time.Millisecond

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

// Totals are the counts of a series. Every call is in exactly one of OK, Failed, ToolFailed, Interrupted
// and Cancelled.
type Totals struct {
	Key
	// OK calls have a result without isError; only they are in the histograms of durations.
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
	// NewConnections is how many calls had to open a connection first. The histograms are without that
	// time, as k6's own durations are.
	NewConnections int64 `json:"new_connections"`
	// Errors counts Failed and ToolFailed by kind.
	Errors     map[wire.Kind]int64 `json:"errors"`
	FirstError string              `json:"first_error,omitempty"`
	FirstWrong string              `json:"first_wrong,omitempty"`
	// StartUnixMs is when the first call began, EndUnixMs when the last one ended.
	StartUnixMs int64 `json:"start_unix_ms"`
	EndUnixMs   int64 `json:"end_unix_ms"`
	// Hlog is the log of durations, beside the summary; absent when OK is 0.
	Hlog string `json:"hlog,omitempty"`
	// Responses is how many of the OK calls are in the log of response times from the intended start,
	// which ResponseHlog names: those of arrival-rate executors that were the first call of their
	// iteration. Absent when it is 0.
	Responses    int64  `json:"responses,omitempty"`
	ResponseHlog string `json:"response_hlog,omitempty"`
	// Lags is how many iterations of arrival-rate executors began with one of these calls, whatever
	// became of it. LagHlog names the log of how much later than intended they began. Absent when it is 0.
	Lags    int64  `json:"lags,omitempty"`
	LagHlog string `json:"lag_hlog,omitempty"`
}

func (t Totals) clone() Totals {
	t.Errors = maps.Clone(t.Errors)
	return t
}

// kind is what a histogram counts.
type kind int

const (
	durations kind = iota
	responses
	lags
	kinds
)

var (
	suffixes = [kinds]string{".hlog", ".response.hlog", ".lag.hlog"}
	meanings = [kinds]string{
		"Microseconds of successful calls",
		"Microseconds of successful calls from their intended start",
		"Microseconds by which iterations began later than intended",
	}
)

// log is where the totals name the log of a kind and count its values.
func (t *Totals) log(k kind) (name *string, count *int64) {
	switch k {
	case responses:
		return &t.ResponseHlog, &t.Responses
	case lags:
		return &t.LagHlog, &t.Lags
	default:
		return &t.Hlog, &t.OK
	}
}

// interval is one second of a series. Histograms without a value are nil.
type interval struct {
	second int64 // Unix time
	hists  [kinds]*hdrhistogram.Histogram
}

// histograms are used again: each has 184 KiB.
var histograms = sync.Pool{New: func() any { return newHistogram() }}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(lowest, highest, significantDigits)
}

// Series are the calls of one key. It is safe for concurrent use.
type Series struct {
	mu     sync.Mutex
	totals Totals
	// open has the seconds in which calls are still counted: one, or two around the turn of a second.
	open []*interval
	done int64 // the last second that take has taken
}

// Add counts a call that has just ended. response is its time from the intended start, 0 when there is
// no such time; lag is how late its iteration began, negative when it is not the one that tells.
func (s *Series) Add(r *wire.Reply, response, lag time.Duration) {
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
	if lag >= 0 {
		s.record(lags, r.End, lag)
	}
	if r.Err == nil {
		s.record(durations, r.End, r.Timings.Duration)
		if response > 0 {
			s.record(responses, r.End, response)
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

func (s *Series) record(k kind, at time.Time, d time.Duration) {
	_, count := s.totals.log(k)
	*count++
	i := s.at(max(at.Unix(), s.done+1))
	if i.hists[k] == nil {
		i.hists[k], _ = histograms.Get().(*hdrhistogram.Histogram)
	}
	// The value is in range, so that recording cannot fail.
	_ = i.hists[k].RecordValue(min(d.Round(time.Microsecond).Microseconds(), highest))
}

func (s *Series) at(second int64) *interval {
	for _, i := range s.open {
		if i.second == second {
			return i
		}
	}
	i := &interval{second: second}
	s.open = append(s.open, i)
	return i
}

// take takes the seconds before this one out of the series, in order, and returns the totals with them.
func (s *Series) take(before int64) ([]*interval, Totals) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var taken, left []*interval
	for _, i := range s.open {
		if i.second < before {
			taken = append(taken, i)
		} else {
			left = append(left, i)
		}
	}
	s.open, s.done = left, max(s.done, before-1)
	slices.SortFunc(taken, func(a, b *interval) int { return cmp.Compare(a.second, b.second) })
	return taken, s.totals.clone()
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
