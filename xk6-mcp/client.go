package mcp

import (
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// client is a Client of index.d.ts.
type client struct {
	mi      *moduleInstance
	options clientOptions
	labels  labelCache
	current *session // of session()
}

// newClient is the constructor.
func (mi *moduleInstance) newClient(call sobek.ConstructorCall) *sobek.Object {
	rt := mi.vu.Runtime()
	options, err := parseClient(mi, call.Argument(0), call.Argument(1))
	if err != nil {
		common.Throw(rt, fmt.Errorf("new Client(): %w", err))
	}
	c := &client{mi: mi, options: options, labels: labelCache{of: map[labelsKey]labels{}}}
	obj := call.This
	set(obj, "connect", mi.wait(c.connect))
	set(obj, "connectAsync", mi.promise(c.connect))
	set(obj, "session", func(call sobek.FunctionCall) sobek.Value {
		if c.current == nil || !c.current.wire.Alive() {
			s, o := c.open("session(params)", call.Argument(0))
			o.work()
			if _, err := o.finish(); err != nil {
				throwWire(rt, err)
			}
			c.current = s
		}
		return c.current.js()
	})
	set(obj, "attach", c.attach)
	set(obj, "pool", mi.promise(c.pool))
	return nil // that is, call.This
}

// set defines a property. It cannot fail on an object that is ours and not frozen.
func set(obj *sobek.Object, name string, value any) {
	if err := obj.Set(name, value); err != nil {
		panic(err)
	}
}

func (c *client) connect(call sobek.FunctionCall, _ *taskQueue) operation {
	_, o := c.open("connect(params)", call.Argument(0))
	return o
}

// open is the operation that opens s.
func (c *client) open(what string, input sobek.Value) (s *session, o operation) {
	p := c.parse(what, input, 0)
	sc := c.begin(what, p.tags, false)
	cfg := c.config(sc)
	s = &session{client: c}
	var err error
	return s, operation{
		work: func() { err = s.connect(sc, cfg, p.wire) },
		finish: func() (sobek.Value, error) {
			if err != nil {
				return nil, err
			}
			return s.js(), nil
		},
	}
}

// parse reads params or throws.
func (c *client) parse(what string, input sobek.Value, takes paramSet) params {
	p, err := parseParams(c.mi.vu.Runtime(), input, takes)
	if err != nil {
		c.throw(what, err)
	}
	return p
}

func (c *client) throw(what string, err error) {
	common.Throw(c.mi.vu.Runtime(), fmt.Errorf("%s: %w", what, err))
}

// config is how sessions are opened from this VU.
func (c *client) config(sc scene) wire.Config {
	cfg := c.options.wire
	if cfg.Transport != wire.Stdio {
		via := c.mi.transports()
		cfg.HTTP, cfg.Streams = via.viaCalls, via.viaStreams
		if agent := sc.state.Options.UserAgent; agent.Valid {
			cfg.Header = withUserAgent(cfg.Header, agent.String)
		}
	}
	cfg.Observer = c.observer(sc)
	if c.options.metrics != metricsOff {
		c.mi.run.observeAuth(c, sc)
	}
	return cfg
}

// connect opens s, on any goroutine.
func (s *session) connect(sc scene, cfg wire.Config, opts wire.Options) error {
	c := s.client
	sc.aside = true // mcp_session_connecting has its time
	w, handshake, err := wire.Connect(sc.ctx, cfg, opts)
	var version string
	if err == nil {
		version = w.ProtocolVersion()
	}
	var end time.Time
	for i, r := range handshake.Replies {
		l := c.record(sc, version, about{method: r.Method}, r)
		sc = sc.rest()
		if i == 0 {
			s.labels, s.since = l, r.Start // the session's own samples are tagged as its first exchange
		}
		end = r.End
	}
	if err != nil {
		return err
	}
	s.wire, s.state = w, sc.state
	c.mi.run.opened(s)
	if c.options.metrics != metricsOff {
		b := batch{tags: s.labels.tags, meta: sc.base.Metadata, at: end}
		b.add(c.mi.metrics.sessions, 1)
		b.addTime(c.mi.metrics.sessionConnecting, handshake.Duration)
		c.mi.run.push(sc.ctx, sc.state.Samples, b.connected())
	}
	return nil
}

// attach makes a session of one that was opened elsewhere. Nothing is sent.
func (c *client) attach(call sobek.FunctionCall) sobek.Value {
	const what = "attach({id, protocolVersion})"
	rt := c.mi.vu.Runtime()
	var id, version string
	err := eachKey(rt, call.Argument(0), "key", func(key string, v sobek.Value) (err error) {
		switch key {
		case "id":
			id, err = parseString(v)
		case "protocolVersion":
			version, err = parseString(v)
		default:
			return errUnknown
		}
		return err
	})
	if err == nil && version == "" {
		err = errors.New("want the id and the protocolVersion of a session, such as setup() may return")
	}
	if err != nil {
		c.throw(what, err)
	}
	sc := c.scene(what, nil)
	w, err := wire.Attach(c.config(sc), id, version)
	if err != nil {
		c.throw(what, err)
	}
	s := &session{client: c, wire: w, state: sc.state, since: time.Now(), attached: true}
	s.labels = labels{tags: sc.base.Tags}
	return s.js()
}
