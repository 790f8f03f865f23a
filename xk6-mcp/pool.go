package mcp

import (
	"context"
	"errors"
	"sync"

	"github.com/grafana/sobek"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// poolConcurrency is how many sessions of a pool are opened at once by default.
const poolConcurrency = 50

// pool is a Pool of index.d.ts.
type pool struct {
	client   *client
	sessions []*session // those that could be opened
	failed   int
	params   params

	streams []*stream
}

// pool opens many sessions. One that cannot be opened is counted, not thrown.
func (c *client) pool(call sobek.FunctionCall, _ *taskQueue) operation {
	const what = "pool(count, params)"
	count, err := parseWhole(call.Argument(0), "sessions")
	if err != nil {
		c.throw(what+": count", err)
	}
	p := c.parse(what, call.Argument(1), takesPool|takesSubscription)
	sc := c.begin(what, p.tags, false)
	cfg := c.config(sc)
	made := &pool{client: c, params: p}
	var failure error
	return operation{
		work: func() {
			failure = made.open(sc, cfg, count)
			if p.listens {
				made.listen(sc, p)
			}
		},
		finish: func() (sobek.Value, error) {
			if len(made.sessions) == 0 {
				return nil, failure
			}
			return made.js(), nil
		},
	}
}

// open opens the sessions and returns the first failure.
func (p *pool) open(sc scene, cfg wire.Config, count int) error {
	var mu sync.Mutex
	var first error
	opened := make([]*session, count)
	p.each(sc.ctx, count, func(i int) {
		scene := sc
		if i > 0 {
			scene = sc.rest()
		}
		s := &session{client: p.client}
		if err := s.connect(scene, cfg, p.params.wire); err != nil {
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = err
			}
			return
		}
		opened[i] = s
	})
	for _, s := range opened {
		if s != nil {
			p.sessions = append(p.sessions, s)
		}
	}
	p.failed = count - len(p.sessions)
	if first == nil && len(p.sessions) == 0 { // not one has been tried
		first = &wire.Error{Kind: wire.KindInterrupted, Message: "k6 ended the iteration before a session was open"}
	}
	return first
}

// each does something for each of many sessions, at the rate and the concurrency that the script allows.
func (p *pool) each(ctx context.Context, count int, do func(i int)) {
	limit := rate.NewLimiter(rate.Inf, 1)
	if p.params.rate > 0 {
		limit.SetLimit(rate.Limit(p.params.rate))
	}
	var group errgroup.Group
	group.SetLimit(poolConcurrency)
	if p.params.concurrency > 0 {
		group.SetLimit(p.params.concurrency)
	}
	for i := range count {
		if limit.Wait(ctx) != nil || ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait() // the goroutines return no error
}

// listen opens a stream on each session that has none.
func (p *pool) listen(sc scene, params params) {
	streams := make([]*stream, len(p.sessions))
	p.each(sc.ctx, len(p.sessions), func(i int) {
		s := p.sessions[i]
		st, reply := s.openStream(sc.ctx, params.listen, params.wire)
		p.client.record(sc.rest(), s.wire.ProtocolVersion(), about{method: reply.Method}, reply)
		if st == nil {
			return
		}
		st.onWake(st.discard)
		streams[i] = st
	})
	for _, st := range streams {
		if st != nil {
			p.streams = append(p.streams, st)
		}
	}
}

func (p *pool) js() *sobek.Object {
	mi := p.client.mi
	rt := mi.vu.Runtime()
	obj := rt.NewObject()
	set(obj, "size", len(p.sessions))
	set(obj, "failed", p.failed)
	getter(rt, obj, "alive", func() any {
		n := 0
		for _, s := range p.sessions {
			if s.wire.Alive() {
				n++
			}
		}
		return n
	})
	getter(rt, obj, "streams", func() any {
		n := 0
		for _, st := range p.streams {
			if st.wire.Open() {
				n++
			}
		}
		return n
	})
	getter(rt, obj, "received", func() any {
		var n int64
		for _, st := range p.streams {
			n += st.wire.Received()
		}
		return n
	})
	set(obj, "at", func(call sobek.FunctionCall) sobek.Value {
		i := call.Argument(0).ToInteger()
		if i < 0 || i >= int64(len(p.sessions)) {
			return sobek.Undefined()
		}
		return p.sessions[i].js()
	})
	set(obj, "each", func(call sobek.FunctionCall) sobek.Value {
		fn, err := parseFunction(call.Argument(0))
		if err != nil {
			p.client.throw("each(fn)", err)
		}
		for i, s := range p.sessions {
			if _, err := fn(sobek.Undefined(), s.js(), rt.ToValue(i)); err != nil {
				panic(err) // the script's own exception
			}
		}
		return sobek.Undefined()
	})
	set(obj, "listenAll", mi.promise(p.listenAll))
	set(obj, "close", mi.promise(p.close))
	return obj
}

func (p *pool) listenAll(call sobek.FunctionCall, _ *taskQueue) operation {
	const what = "listenAll(params)"
	c := p.client
	params := c.parse(what, call.Argument(0), takesSubscription)
	sc := c.begin(what, params.tags, false)
	if len(p.streams) > 0 {
		c.throw(what, errors.New("this pool has its streams already"))
	}
	return operation{
		work:   func() { p.listen(sc, params) },
		finish: func() (sobek.Value, error) { return c.mi.vu.Runtime().ToValue(len(p.streams)), nil },
	}
}

// close ends all sessions, as fast as the server lets it.
func (p *pool) close(sobek.FunctionCall, *taskQueue) operation {
	ctx := p.client.scene("close()", nil).ctx
	return operation{
		work: func() {
			var group errgroup.Group
			group.SetLimit(poolConcurrency)
			for _, s := range p.sessions {
				group.Go(func() error {
					s.end(func() { s.closeWire(ctx, wire.Options{}) })
					return nil
				})
			}
			_ = group.Wait() // the goroutines return no error
		},
		finish: func() (sobek.Value, error) { return sobek.Undefined(), nil },
	}
}
