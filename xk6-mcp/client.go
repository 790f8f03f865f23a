package mcp

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// client is a Client of index.d.ts. Its exported methods are the JavaScript ones.
type client struct {
	mi      *moduleInstance
	options clientOptions
	labels  map[labelsKey]labels
	current *session // of session()
}

// newClient is the constructor.
func (mi *moduleInstance) newClient(call sobek.ConstructorCall) *sobek.Object {
	rt := mi.vu.Runtime()
	options, err := parseClient(rt, call.Argument(0), call.Argument(1))
	if err != nil {
		common.Throw(rt, fmt.Errorf("new Client(): %w", err))
	}
	c := &client{mi: mi, options: options, labels: map[labelsKey]labels{}}
	obj := call.This
	set(obj, "connect", func(call sobek.FunctionCall) sobek.Value {
		return c.connect("connect()", call.Argument(0)).object
	})
	set(obj, "session", func(call sobek.FunctionCall) sobek.Value {
		if c.current == nil || !c.current.wire.Alive() {
			c.current = c.connect("session()", call.Argument(0))
		}
		return c.current.object
	})
	return nil // that is, call.This
}

// set defines a property. It cannot fail on an object that is ours and not frozen.
func set(obj *sobek.Object, name string, value any) {
	if err := obj.Set(name, value); err != nil {
		panic(err)
	}
}

// connect opens a session or throws.
func (c *client) connect(what string, params sobek.Value) *session {
	state := c.mi.state(what)
	rt := c.mi.vu.Runtime()
	p, err := parseParams(rt, params, false)
	if err != nil {
		common.Throw(rt, fmt.Errorf("%s: %w", what, err))
	}
	base := c.baseTags(state, p.tags)
	c.waitForTurn(state)

	cfg := c.options.wire
	cfg.HTTP = c.mi.roundTripper()
	if agent := state.Options.UserAgent; agent.Valid && cfg.Header.Get("User-Agent") == "" {
		cfg.Header = cfg.Header.Clone()
		if cfg.Header == nil {
			cfg.Header = http.Header{}
		}
		cfg.Header.Set("User-Agent", agent.String)
	}
	w, handshake, err := wire.Connect(c.mi.vu.Context(), cfg, p.wire)
	var version string
	if err == nil {
		version = w.Server().ProtocolVersion
	}
	var l labels
	for i, r := range handshake.Replies {
		if recorded := c.record(state, base, version, "", r); i == 0 {
			l = recorded // the session's own samples are tagged as its initialize
		}
	}
	if err != nil {
		throwWire(rt, err)
	}
	s := &session{client: c, wire: w, state: state, labels: l, since: handshake.Replies[0].Start}
	s.object = s.newObject()
	c.mi.run.opened(s)
	if c.options.metrics != metricsOff {
		b := batch{tags: l.tags, meta: base.Metadata, at: handshake.Replies[len(handshake.Replies)-1].End}
		b.add(c.mi.metrics.sessions, 1)
		b.addTime(c.mi.metrics.sessionConnecting, handshake.Duration)
		c.push(state, b)
	}
	return s
}

// waitForTurn keeps k6's rps option.
func (c *client) waitForTurn(state *lib.State) {
	if state.RPSLimit == nil {
		return
	}
	if err := state.RPSLimit.Wait(c.mi.vu.Context()); err != nil {
		common.Throw(c.mi.vu.Runtime(), err)
	}
}

// throwWire throws a failure of the wire as a McpError, anything else as it is.
func throwWire(rt *sobek.Runtime, err error) {
	var e *wire.Error
	if errors.As(err, &e) {
		panic(newError(rt, e))
	}
	common.Throw(rt, err)
}
