package mcp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/metrics"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// stream counts what happens on a server-to-client stream, for a Listener or in a pool.
type stream struct {
	session *session
	tags    *metrics.TagSet
	wire    *wire.Stream

	mu      sync.Mutex
	ended   bool
	dropped int64  // as far as it has been counted
	wake    func() // says that there is something to take, or the end
}

// openStream may be called on any goroutine. The stream is nil if the reply has an error.
func (s *session) openStream(ctx context.Context, opts wire.ListenOptions, callOpts wire.Options) (*stream, *wire.Reply) {
	st := &stream{session: s}
	ready := make(chan struct{})
	defer close(ready)
	opts.Arrived = func() {
		<-ready // the first notification may be here before Listen returns
		if st.wire != nil {
			st.arrived()
		}
	}
	w, reply := s.wire.Listen(ctx, opts, callOpts)
	if w == nil {
		return nil, reply
	}
	st.wire, st.tags = w, s.labels.tags
	s.client.mi.run.streaming(s, +1)
	if s.attached {
		s.client.mi.run.abandonAtEnd(s)
	}
	return st, reply
}

// arrived is called when a notification has been queued and when the stream has ended.
func (st *stream) arrived() {
	st.mu.Lock()
	wake := st.wake
	end := !st.wire.Open() && !st.ended
	if end {
		st.ended = true
	}
	st.mu.Unlock()
	if end {
		c := st.session.client
		st.countDropped()
		c.mi.run.streaming(st.session, -1)
		c.count(st.session.state, st.tags.With("reason", st.reason()), c.mi.metrics.streamDuration, metrics.D(st.wire.Duration()))
	}
	if wake != nil {
		wake()
	}
}

// onWake sets what is called when something has arrived.
func (st *stream) onWake(wake func()) {
	st.mu.Lock()
	st.wake = wake
	st.mu.Unlock()
	wake() // for what has arrived before
}

// discard drops what is queued, for streams that are only counted.
func (st *stream) discard() {
	for {
		if _, ok := st.wire.Next(); !ok {
			return
		}
	}
}

// reason is why the stream has ended.
func (st *stream) reason() string {
	if err := st.wire.Err(); err != nil {
		return string(err.Kind)
	}
	return "closed"
}

func (st *stream) countDropped() {
	st.mu.Lock()
	dropped := st.wire.Dropped()
	more := dropped - st.dropped
	st.dropped = dropped
	st.mu.Unlock()
	if more > 0 {
		c := st.session.client
		c.count(st.session.state, st.tags, c.mi.metrics.notificationsDropped, float64(more))
	}
}

// listener is a Listener of index.d.ts. What is not guarded belongs to the JavaScript thread.
type listener struct {
	*stream
	object   *sobek.Object
	handlers []sobek.Callable // of onNotification
	closers  []sobek.Callable // of onClose
	holding  *taskQueue       // keeps the iteration going for them, nil while there are none
	waiters  []*waiter        // of next

	guard  sync.Mutex
	queues map[*taskQueue]struct{} // to be woken when something has arrived
}

// waiter is a promise of next().
type waiter struct {
	method          string // empty for any
	resolve, reject func(any) error
	queue           *taskQueue
}

func (s *session) listen(call sobek.FunctionCall, _ *taskQueue) operation {
	const what = "listen(params)"
	c := s.client
	p := c.parse(what, call.Argument(0), takesSubscription|takesQueue)
	s.check(what)
	sc := c.begin(what, p.tags, false)
	var st *stream
	var reply *wire.Reply
	return operation{
		work: func() {
			st, reply = s.openStream(sc.ctx, p.listen, p.wire)
			c.record(sc, s.wire.ProtocolVersion(), about{method: reply.Method}, reply)
		},
		finish: func() (sobek.Value, error) {
			if reply.Err != nil {
				return nil, reply.Err
			}
			return newListener(st).object, nil
		},
	}
}

func newListener(st *stream) *listener {
	l := &listener{stream: st, queues: map[*taskQueue]struct{}{}}
	rt := l.runtime()
	l.object = rt.NewObject()
	getter(rt, l.object, "open", func() any { return st.wire.Open() })
	getter(rt, l.object, "received", func() any { return st.wire.Received() })
	getter(rt, l.object, "dropped", func() any { return st.wire.Dropped() })
	getter(rt, l.object, "lastEventId", func() any { return st.wire.LastEventID() })
	set(l.object, "drain", l.drain)
	set(l.object, "next", l.next)
	set(l.object, "onNotification", func(call sobek.FunctionCall) sobek.Value {
		return l.on("onNotification(fn)", &l.handlers, call)
	})
	set(l.object, "onClose", func(call sobek.FunctionCall) sobek.Value { return l.on("onClose(fn)", &l.closers, call) })
	set(l.object, "close", l.close)
	st.onWake(l.wakeAll)
	return l
}

func (l *listener) runtime() *sobek.Runtime { return l.session.client.mi.vu.Runtime() }

// queue is one that pump is called on whenever something arrives, until the iteration ends.
func (l *listener) queue() *taskQueue {
	mi := l.session.client.mi
	q := newTaskQueue(mi.vu)
	l.guard.Lock()
	l.queues[q] = struct{}{}
	l.guard.Unlock()
	context.AfterFunc(mi.vu.Context(), func() { l.release(q) })
	q.add(l.pump) // what is here already
	return q
}

func (l *listener) release(q *taskQueue) {
	l.guard.Lock()
	delete(l.queues, q)
	l.guard.Unlock()
	q.close()
}

func (l *listener) wakeAll() {
	l.guard.Lock()
	defer l.guard.Unlock()
	for q := range l.queues {
		q.add(l.pump)
	}
}

// on adds a handler. The iteration goes on until the listener is closed or k6 ends it.
func (l *listener) on(what string, handlers *[]sobek.Callable, call sobek.FunctionCall) sobek.Value {
	c := l.session.client
	c.mi.state(what)
	fn, err := parseFunction(call.Argument(0))
	if err != nil {
		c.throw(what, err)
	}
	if l.holding == nil || l.holding.isClosed() { // the first one in this iteration
		l.handlers, l.closers = nil, nil
		l.holding = l.queue()
	}
	*handlers = append(*handlers, fn)
	return sobek.Undefined()
}

// next is a promise of the next notification, or of the next one of a method.
func (l *listener) next(call sobek.FunctionCall) sobek.Value {
	const what = "next({method, timeout})"
	c := l.session.client
	c.mi.state(what)
	rt := l.runtime()
	w := &waiter{}
	var timeout time.Duration
	err := eachKey(rt, call.Argument(0), "param", func(key string, v sobek.Value) (err error) {
		switch key {
		case "method":
			w.method, err = parseString(v)
		case "timeout":
			timeout, err = parseDuration(v)
		default:
			return errUnknown
		}
		return err
	})
	if err != nil {
		c.throw(what, err)
	}
	var promise *sobek.Promise
	promise, w.resolve, w.reject = rt.NewPromise()
	l.waiters = append(l.waiters, w)
	w.queue = l.queue()
	if timeout > 0 {
		timer := time.AfterFunc(timeout, func() {
			w.queue.add(func() error {
				return l.fail(w, &wire.Error{Kind: wire.KindTimeout, Message: fmt.Sprintf("no notification within %s", timeout)})
			})
		})
		context.AfterFunc(c.mi.vu.Context(), func() { timer.Stop() })
	}
	return rt.ToValue(promise)
}

// fail rejects a waiter that is still waiting.
func (l *listener) fail(w *waiter, err *wire.Error) error {
	if !l.forget(w) {
		return nil
	}
	defer l.release(w.queue)
	return w.reject(newError(l.runtime(), err))
}

func (l *listener) forget(w *waiter) bool {
	i := slices.Index(l.waiters, w)
	if i < 0 {
		return false
	}
	l.waiters = slices.Delete(l.waiters, i, i+1)
	return true
}

// pump hands out what is queued, as long as somebody wants it, and then the end of the stream.
func (l *listener) pump() error {
	l.waiters = slices.DeleteFunc(l.waiters, func(w *waiter) bool { return w.queue.isClosed() }) // of earlier iterations
	for len(l.handlers) > 0 || len(l.waiters) > 0 {
		n, ok := l.wire.Next()
		if !ok {
			break
		}
		if err := l.deliver(n); err != nil {
			return err
		}
	}
	l.countDropped()
	if l.wire.Open() {
		return nil
	}
	why := &wire.Error{Kind: wire.KindReset, Message: "the stream has ended"}
	if err := l.wire.Err(); err != nil {
		why = err
	}
	for len(l.waiters) > 0 {
		if err := l.fail(l.waiters[0], why); err != nil {
			return err
		}
	}
	closers := l.closers
	l.closers, l.handlers = nil, nil
	for _, fn := range closers {
		obj := l.runtime().NewObject()
		set(obj, "kind", l.reason())
		if _, err := fn(sobek.Undefined(), obj); err != nil {
			return err
		}
	}
	if l.holding != nil {
		l.release(l.holding)
		l.holding = nil
	}
	return nil
}

func (l *listener) deliver(n wire.Notification) error {
	value := l.notification(n)
	for _, w := range l.waiters {
		if w.method == "" || w.method == n.Method {
			l.forget(w)
			if err := w.resolve(value); err != nil {
				return err
			}
			l.release(w.queue)
			break
		}
	}
	for _, fn := range l.handlers {
		if _, err := fn(sobek.Undefined(), value); err != nil {
			return err
		}
	}
	return nil
}

func (l *listener) notification(n wire.Notification) sobek.Value {
	obj := l.runtime().NewObject()
	set(obj, "method", n.Method)
	set(obj, "params", l.session.client.mi.parse(n.Params))
	set(obj, "at", n.At.UnixMilli())
	set(obj, "stream", string(n.Stream))
	return obj
}

// drain takes everything that is queued.
func (l *listener) drain(sobek.FunctionCall) sobek.Value {
	all := []any{}
	for {
		n, ok := l.wire.Next()
		if !ok {
			break
		}
		all = append(all, l.notification(n))
	}
	l.countDropped()
	return l.runtime().NewArray(all...)
}

func (l *listener) close(sobek.FunctionCall) sobek.Value {
	l.wire.Close()
	if err := l.pump(); err != nil {
		l.session.client.throw("close()", err)
	}
	return sobek.Undefined()
}
