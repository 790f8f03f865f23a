package wire

import (
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// Timings splits the time of one exchange as k6/http does: Duration = Sending + Waiting + Receiving,
// and getting a connection (Blocked, of which Connecting and TLSHandshaking are parts) stands outside.
type Timings struct {
	Blocked        time.Duration // waiting for a connection: from the pool, or a new one
	Connecting     time.Duration // TCP connect
	TLSHandshaking time.Duration
	Sending        time.Duration // connection ready to request written
	Waiting        time.Duration // request written to first byte of the answer
	Receiving      time.Duration // first byte to the last byte of the matching reply
	FirstEvent     time.Duration // request written to the first event; 0 without a stream
	Duration       time.Duration
}

// trace notes when the steps of an exchange happened, in nanoseconds after start on the monotonic
// clock; 0 is never. The values are atomic because the transport may go on dialling, and calling the
// hooks, after the exchange has been given up.
type trace struct {
	hooks                        httptrace.ClientTrace
	start                        time.Time
	getConn, gotConn             atomic.Int64
	dialStart, dialDone          atomic.Int64
	tlsStart, tlsDone            atomic.Int64
	wrote, firstByte, firstEvent atomic.Int64
	reused                       atomic.Bool
	// conns counts the connections that were given to the exchange, idle those that had been idle.
	conns, idle atomic.Int32
}

// The hooks are a good part of what a call allocates, so traces are used again.
var traces = sync.Pool{New: func() any {
	t := &trace{}
	t.hooks = httptrace.ClientTrace{
		GetConn:      func(string) { t.once(&t.getConn) },
		ConnectStart: func(string, string) { t.once(&t.dialStart) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				t.once(&t.dialDone)
			}
		},
		TLSHandshakeStart: func() { t.once(&t.tlsStart) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				t.once(&t.tlsDone)
			}
		},
		// The last connection counts: the transport takes another when the first one proves dead before
		// anything was written.
		GotConn: func(info httptrace.GotConnInfo) {
			t.gotConn.Store(t.now())
			t.reused.Store(info.Reused)
			t.conns.Add(1)
			if info.WasIdle {
				t.idle.Add(1)
			}
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				t.wrote.Store(t.now())
			}
		},
		GotFirstResponseByte: func() { t.once(&t.firstByte) },
	}
	return t
}}

func newTrace(start time.Time) *trace {
	t, ok := traces.Get().(*trace)
	if !ok {
		panic("traces has only traces")
	}
	t.start = start
	return t
}

// recycle gives the trace back if no hook can be called any more. That is known of one case only, the
// usual one: HTTP/1, an idle connection at once, so that none was dialled, and a request that was
// written before its answer began.
func (t *trace) recycle(major int) {
	if major != 1 || t.conns.Load() != 1 || t.idle.Load() != 1 || t.wrote.Load() == 0 || t.firstByte.Load() == 0 {
		return
	}
	for _, v := range []*atomic.Int64{
		&t.getConn, &t.gotConn, &t.dialStart, &t.dialDone, &t.tlsStart, &t.tlsDone, &t.wrote, &t.firstByte, &t.firstEvent,
	} {
		v.Store(0)
	}
	t.reused.Store(false)
	t.conns.Store(0)
	t.idle.Store(0)
	traces.Put(t)
}

func (t *trace) now() int64 { return max(1, int64(time.Since(t.start))) }

func (t *trace) once(v *atomic.Int64) { v.CompareAndSwap(0, t.now()) }

// timings is the split of an exchange that ended at end.
func (t *trace) timings(end time.Time) Timings {
	stop := int64(end.Sub(t.start))
	between := func(from, to int64) time.Duration {
		if from == 0 || to < from {
			return 0
		}
		return time.Duration(to - from)
	}
	got := t.gotConn.Load()
	if got == 0 {
		return Timings{Blocked: between(t.getConn.Load(), stop)}
	}
	timings := Timings{
		Blocked:  between(t.getConn.Load(), got),
		Duration: between(got, stop),
	}
	// A dial that lost the race against a connection that came free is not this call's.
	if !t.reused.Load() {
		timings.Connecting = between(t.dialStart.Load(), t.dialDone.Load())
		timings.TLSHandshaking = between(t.tlsStart.Load(), t.tlsDone.Load())
	}
	// An answer may begin before the request is written, and either may never happen; the three parts
	// are cut so that they always add up to the duration.
	wrote := t.wrote.Load()
	if wrote == 0 || wrote > stop {
		wrote = stop
	}
	first := t.firstByte.Load()
	if first == 0 || first > stop {
		first = stop
	}
	first = max(first, wrote)
	timings.Sending = between(got, wrote)
	timings.Waiting = between(wrote, first)
	timings.Receiving = between(first, stop)
	timings.FirstEvent = between(wrote, t.firstEvent.Load())
	return timings
}
