package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

var errStreamClosed = errors.New("the stream was closed")

// ListenOptions are the options of Listen.
type ListenOptions struct {
	// Queue is how many notifications wait at most to be taken; DefaultQueue when it is 0. What comes
	// when it is full is dropped and counted.
	Queue int
	// LastEventID asks for what came after this event of an earlier stream, before StatelessVersion.
	LastEventID string
	// Subscribe is the JSON object that says what is wanted, from StatelessVersion on; if empty,
	// changes of the three lists.
	Subscribe json.RawMessage
	// Arrived is called after each notification that was queued, and at the end. It
	// must neither block nor use the session.
	Arrived func()
}

// Stream is an open stream of notifications from the server. Its methods may be called from several
// goroutines at once.
type Stream struct {
	session *Session
	arrived func()
	limit   int
	since   time.Time
	close   func()
	done    chan struct{}

	mu                sync.Mutex
	queue             []Notification
	received, dropped int64
	lastEventID       string
	err               *Error
	until             time.Time
	ended             bool
}

// Listen opens the stream on which the server sends without being asked: with GET, or with
// subscriptions/listen from StatelessVersion on. Over SSE, and over Stdio before StatelessVersion, that
// stream is always there, and nothing is sent. The stream outlives ctx: it ends with Close, with the
// session, or when the server ends it. It is nil if the reply, that is, the response that opens it,
// has an error.
func (s *Session) Listen(ctx context.Context, lo ListenOptions, opts Options) (*Stream, *Reply) {
	if lo.Queue <= 0 {
		lo.Queue = DefaultQueue
	}
	if len(lo.Subscribe) == 0 {
		lo.Subscribe = json.RawMessage(`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`)
	}
	l := &Stream{session: s, arrived: lo.Arrived, limit: lo.Queue, since: time.Now(), done: make(chan struct{})}
	opts.Progress, opts.CancelAfter = nil, 0
	r := s.note(s.transport.listen(ctx, l, lo, opts))
	if r.Err != nil {
		return nil, r
	}
	return l, r
}

// subscription is the request for a stream, from StatelessVersion on.
func (s *Session) subscription(lo ListenOptions, opts Options) (*outgoing, *Error) {
	const method = "subscriptions/listen"
	id := s.nextID()
	params, failure := s.addMeta(fmt.Appendf(nil, `{"notifications":%s}`, lo.Subscribe), id, opts)
	if failure != nil {
		return nil, failure
	}
	return &outgoing{id: id, method: method, opts: opts, body: appendRequest(nil, id, method, params)}, nil
}

func (t *streamable) listen(ctx context.Context, l *Stream, lo ListenOptions, opts Options) *Reply {
	m, verb := &outgoing{opts: opts, method: http.MethodGet}, http.MethodGet
	if t.Stateless() {
		var failure *Error
		if m, failure = t.subscription(lo, opts); failure != nil {
			return failed("subscriptions/listen", failure)
		}
		verb = http.MethodPost
	} else if lo.LastEventID != "" {
		m.opts.Header = withHeader(http.Header{"Last-Event-Id": {lo.LastEventID}}, opts.Header)
	}
	m.lasts = true
	reply := &Reply{Method: m.method, Sent: len(m.body)}
	return t.send(ctx, verb, t.url, reply, m, func(x *exchange, resp *http.Response) *Error {
		switch kind := mediaType(resp); {
		case kind == "text/event-stream":
		case kind == "application/json" && m.id != "":
			if failure := x.receiveJSON(resp); failure != nil {
				return failure
			}
			return errorf(KindMalformed, "the server answered %s at once, without a stream", m.method)
		default:
			return x.unexpected(resp, "text/event-stream")
		}
		reply.Streamed = true
		l.close = func() { x.cancel(errStreamClosed) }
		if !t.spawn(func() { l.read(x) }) {
			return errorf(KindInterrupted, "%w", errClosed)
		}
		x.kept = true
		x.detach()
		x.timer.Stop()
		return nil
	})
}

// read queues what comes on the response until it ends.
func (l *Stream) read(x *exchange) {
	defer x.free()
	defer func() { _ = x.body.Close() }()
	const buffer = 512 // there may be thousands of streams, nearly always silent
	events := newEventReaderSize(&x.body, x.s.cfg.MaxMessageSize, buffer)
	for {
		data, err := events.next()
		l.sawEventID(events.id)
		switch {
		case errors.Is(context.Cause(x.ctx), errStreamClosed), errors.Is(context.Cause(x.ctx), errClosed), errors.Is(err, io.EOF):
			l.end(nil)
			return
		case errors.Is(err, errTooLarge):
			l.lose()
			continue
		case err != nil:
			l.end(readError(err, 0))
			return
		case len(data) == 0:
			continue
		}
		m, failure := decode(bytes.Clone(data)) // the reader uses it again
		switch {
		case failure != nil:
			l.lose()
		case m.Method != "":
			if n, ok := x.s.incoming(&m, ListenStream); ok {
				l.push(n)
			}
		case m.answers(x.m.id):
			var r Reply
			m.settle(&r)
			l.end(r.Err)
			return
		}
	}
}

// push queues a notification.
func (l *Stream) push(n Notification) {
	l.mu.Lock()
	l.received++
	if len(l.queue) < l.limit {
		l.queue = append(l.queue, n)
	} else {
		l.dropped++
	}
	l.mu.Unlock()
	if l.arrived != nil {
		l.arrived()
	}
}

// lose counts a message that cannot be read: it came, and nobody will see it.
func (l *Stream) lose() {
	l.mu.Lock()
	l.received++
	l.dropped++
	l.mu.Unlock()
}

func (l *Stream) sawEventID(id string) {
	if id != "" {
		l.mu.Lock()
		l.lastEventID = id
		l.mu.Unlock()
	}
}

// end ends the stream; only the first call does anything.
func (l *Stream) end(e *Error) {
	l.mu.Lock()
	first := !l.ended
	if first {
		l.ended, l.err, l.until = true, e, time.Now()
	}
	l.mu.Unlock()
	if !first {
		return
	}
	close(l.done)
	if l.arrived != nil {
		l.arrived()
	}
}

// Next takes the oldest notification that waits, if there is one.
func (l *Stream) Next() (Notification, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return Notification{}, false
	}
	n := l.queue[0]
	l.queue[0] = Notification{}
	if l.queue = l.queue[1:]; len(l.queue) == 0 {
		l.queue = nil
	}
	return n, true
}

// Received is the number of notifications that came, Dropped of those how many were lost because the
// queue was full or because they could not be read.
func (l *Stream) Received() int64 { l.mu.Lock(); defer l.mu.Unlock(); return l.received }

// Dropped is described at Received.
func (l *Stream) Dropped() int64 { l.mu.Lock(); defer l.mu.Unlock(); return l.dropped }

// LastEventID is the id of the last event that had one: see ListenOptions.
func (l *Stream) LastEventID() string { l.mu.Lock(); defer l.mu.Unlock(); return l.lastEventID }

// Done is closed when the stream has ended.
func (l *Stream) Done() <-chan struct{} { return l.done }

// Open reports whether the stream has not ended.
func (l *Stream) Open() bool {
	select {
	case <-l.done:
		return false
	default:
		return true
	}
}

// Err is why the stream ended: nil while it is open, and if this side or the server ended it in the
// proper way.
func (l *Stream) Err() *Error { l.mu.Lock(); defer l.mu.Unlock(); return l.err }

// Duration is how long the stream has been open, or was.
func (l *Stream) Duration() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return l.until.Sub(l.since)
	}
	return time.Since(l.since)
}

// Close ends the stream and waits for its end.
func (l *Stream) Close() {
	l.close()
	<-l.done
}
