package wire

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// duplex matches requests and replies where all that the server sends comes on one stream.
type duplex struct {
	*Session
	// post sends one message; its reply says what that took.
	post func(context.Context, *outgoing) *Reply

	mu      sync.Mutex
	pending map[string]chan arrival // by id
	givenUp map[string]string       // methods, by the ids of calls that nobody waits for any more
	streams map[*Stream]string      // the ids of the requests that opened them
	broken  *Error                  // the stream is over
}

// arrival is what a pending call gets: a message or a failure.
type arrival struct {
	message message
	size    int
	at      time.Time
	failure *Error
}

// mostGivenUp limits what is remembered for the sake of counting late replies.
const mostGivenUp = 10_000

func newDuplex(s *Session) duplex {
	return duplex{
		Session: s, pending: map[string]chan arrival{}, givenUp: map[string]string{}, streams: map[*Stream]string{},
	}
}

func (d *duplex) exchange(ctx context.Context, m *outgoing) *Reply {
	r := &Reply{Method: m.method, Sent: len(m.body)}
	b := d.bound(ctx, m.opts)
	r.Start = b.start
	arrived, failure := d.expect(m.id)
	sent := make(chan *Reply, 1)
	if failure == nil && !d.spawn(func() { sent <- d.post(b.ctx, m) }) {
		failure = errorf(KindInterrupted, "%w", errClosed)
	}
	var posted *Reply
	for done := failure != nil; !done; {
		select {
		case posted = <-sent:
			r.Status, r.Header, r.NewConnection = posted.Status, posted.Header, posted.NewConnection
			failure = posted.Err
			done = failure != nil || m.id == ""
			if done {
				r.Body = posted.Body
			}
		case a := <-arrived:
			r.Received, r.End, r.Streamed, failure = a.size, a.at, d.cfg.Transport == SSE, a.failure
			if failure == nil {
				a.message.settle(r)
				failure = r.Err
			}
			done = true
		case <-b.ctx.Done():
			failure = errorf(KindReset, "%w", context.Cause(b.ctx))
			done = true
		}
	}
	if r.End.IsZero() {
		r.End = time.Now()
	}
	if failure != nil {
		r.Err = b.failure(failure)
		r.Err.Status = r.Status
	}
	d.forget(m, r)
	r.Timings.Duration = r.End.Sub(r.Start)
	if posted != nil {
		r.Timings = posted.Timings
		r.Timings.Duration = max(posted.Timings.Sending, r.End.Sub(posted.Start.Add(posted.Timings.Blocked)))
		r.Timings.Receiving = 0
	}
	r.Timings.Waiting = r.Timings.Duration - r.Timings.Sending
	if posted == nil && r.Err == nil { // the reply overtook the response to the POST
		d.spawn(func() { <-sent; b.free() })
		return r
	}
	b.free()
	return r
}

// expect announces the reply to the request with this id.
func (d *duplex) expect(id string) (chan arrival, *Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		e := *d.broken // each call has an error of its own
		return nil, &e
	}
	if id == "" {
		return nil, nil
	}
	if _, ok := d.pending[id]; ok {
		return nil, errorf(KindMalformed, "a request with the id %s is under way already", id)
	}
	c := make(chan arrival, 1)
	d.pending[id] = c
	return c, nil
}

// forget is called when nobody waits for the reply any more, because it is here or will be late.
func (d *duplex) forget(m *outgoing, r *Reply) {
	if m.id == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.pending, m.id)
	if r.Received == 0 && d.broken == nil && len(d.givenUp) < mostGivenUp {
		d.givenUp[m.id] = m.method
	}
}

// receive takes one message off the stream.
func (d *duplex) receive(data []byte) {
	at := time.Now()
	data = bytes.Clone(data) // the reader uses it again
	m, failure := decode(data)
	switch {
	case failure != nil:
		d.unreadable(data, failure)
	case m.Method != "":
		if n, ok := d.incoming(&m, ListenStream); ok {
			d.mu.Lock()
			streams := slices.Collect(maps.Keys(d.streams))
			d.mu.Unlock()
			for _, l := range streams {
				l.push(n)
			}
		}
	default:
		d.settle(&m, data, at)
	}
}

func (d *duplex) settle(m *message, data []byte, at time.Time) {
	id := string(m.ID)
	d.mu.Lock()
	defer d.mu.Unlock()
	if c, ok := d.pending[id]; ok {
		delete(d.pending, id)
		c <- arrival{message: *m, size: len(data), at: at}
		return
	}
	for l, request := range d.streams {
		if request == id { // this is how a server ends a stream
			var r Reply
			m.settle(&r)
			delete(d.streams, l)
			l.end(r.Err)
			return
		}
	}
	if method, ok := d.givenUp[id]; ok {
		delete(d.givenUp, id)
		if late := d.cfg.Observer.LateReply; late != nil {
			late(method)
		}
		return
	}
	d.noise(data)
}

// unreadable takes something that is no message. If just one call waits and it looks like the reply, it
// is that call's failure; otherwise there is no telling whose it is.
func (d *duplex) unreadable(data []byte, failure *Error) {
	if len(data) > 0 && data[0] == '{' && d.only(failure, len(data)) {
		return
	}
	d.noise(data)
}

// only gives the failure to the one call that is pending, if it is one.
func (d *duplex) only(failure *Error, size int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) != 1 {
		return false
	}
	for id, c := range d.pending {
		delete(d.pending, id)
		c <- arrival{failure: failure, size: size, at: time.Now()}
	}
	return true
}

func (d *duplex) noise(data []byte) {
	if noise := d.cfg.Observer.Noise; noise != nil {
		noise(data)
	}
}

// fail ends the stream: pending calls and streams get the first error, later calls the second.
func (d *duplex) fail(now, later *Error) {
	d.lost.Store(true)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return
	}
	d.broken = later
	ours := d.closed.Load()
	if ours {
		now = errorf(KindInterrupted, "%w", errClosed)
	}
	for id, c := range d.pending {
		delete(d.pending, id)
		e := *now
		c <- arrival{failure: &e, at: time.Now()}
	}
	for l := range d.streams {
		delete(d.streams, l)
		if ours {
			l.end(nil)
		} else {
			l.end(now)
		}
	}
}

func (d *duplex) listen(ctx context.Context, l *Stream, lo ListenOptions, opts Options) *Reply {
	var id string
	reply := failed("listen", nil)
	if d.Stateless() {
		m, failure := d.subscription(lo, opts)
		if failure != nil {
			return failed("subscriptions/listen", failure)
		}
		id, m.id = m.id, "" // its reply is the end of the stream
		defer func() {
			if reply.Err != nil {
				d.remove(l)
			}
		}()
		d.add(l, id)
		reply = d.exchange(ctx, m)
		return reply
	}
	if failure := d.add(l, id); failure != nil {
		reply.Err = failure
	}
	return reply
}

func (d *duplex) add(l *Stream, request string) *Error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		e := *d.broken
		return &e
	}
	l.close = func() {
		d.remove(l)
		if request != "" {
			d.spawn(func() { d.sendCancelled(&outgoing{id: request}) })
		}
		l.end(nil)
	}
	d.streams[l] = request
	return nil
}

func (d *duplex) remove(l *Stream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.streams, l)
}
