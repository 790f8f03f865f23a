package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// session is a Session of index.d.ts.
type session struct {
	client *client
	wire   *wire.Session
	object *sobek.Object
	state  *lib.State // of the VU: k6 keeps one for its whole life
	labels labels
	since  time.Time
}

func (s *session) newObject() *sobek.Object {
	rt := s.client.mi.vu.Runtime()
	obj := rt.NewObject()
	server := s.wire.Server()
	set(obj, "id", s.wire.ID())
	set(obj, "protocolVersion", server.ProtocolVersion)
	set(obj, "serverInfo", s.parse(server.ServerInfo))
	set(obj, "serverCapabilities", s.parse(server.Capabilities))
	set(obj, "instructions", server.Instructions)
	alive := rt.ToValue(func(sobek.FunctionCall) sobek.Value { return rt.ToValue(s.wire.Alive()) })
	if err := obj.DefineAccessorProperty("alive", alive, nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE); err != nil {
		panic(err) // as in set
	}
	set(obj, "callTool", s.callTool)
	set(obj, "listTools", s.listTools)
	set(obj, "ping", s.ping)
	set(obj, "request", s.request)
	set(obj, "close", s.close)
	return obj
}

// parse makes a JavaScript value of JSON from the server; absent is undefined.
func (s *session) parse(raw json.RawMessage) sobek.Value {
	if len(raw) == 0 {
		return sobek.Undefined()
	}
	v, err := s.client.mi.parseJSON(string(raw))
	if err != nil {
		common.Throw(s.client.mi.vu.Runtime(), err)
	}
	return v
}

func (s *session) callTool(call sobek.FunctionCall) sobek.Value {
	name, err := parseString(call.Argument(0))
	if err != nil {
		s.throw("callTool(name, args, params): name", err)
	}
	arguments, err := encodeObject(call.Argument(1))
	if err != nil {
		s.throw("callTool(name, args, params): args", err)
	}
	return s.do("callTool", toolReply, name, call.Argument(2), func(ctx context.Context, p callParams) *wire.Reply {
		return s.wire.CallTool(ctx, name, arguments, p.wire)
	})
}

func (s *session) listTools(call sobek.FunctionCall) sobek.Value {
	return s.do("listTools", pageReply, "", call.Argument(0), func(ctx context.Context, p callParams) *wire.Reply {
		var body []byte
		if p.cursor != "" {
			body, _ = json.Marshal(map[string]string{"cursor": p.cursor}) // strings always marshal
		}
		return s.wire.Call(ctx, "tools/list", body, p.wire)
	})
}

func (s *session) ping(call sobek.FunctionCall) sobek.Value {
	return s.do("ping", plainReply, "", call.Argument(0), func(ctx context.Context, p callParams) *wire.Reply {
		return s.wire.Call(ctx, "ping", nil, p.wire)
	})
}

func (s *session) request(call sobek.FunctionCall) sobek.Value {
	method, err := parseString(call.Argument(0))
	if err != nil {
		s.throw("request(method, body, params): method", err)
	}
	body, err := encodeObject(call.Argument(1))
	if err != nil {
		s.throw("request(method, body, params): body", err)
	}
	return s.do("request", plainReply, "", call.Argument(2), func(ctx context.Context, p callParams) *wire.Reply {
		return s.wire.Call(ctx, method, body, p.wire)
	})
}

func (s *session) close(call sobek.FunctionCall) sobek.Value {
	p, err := parseParams(s.client.mi.vu.Runtime(), call.Argument(0), false)
	if err != nil {
		s.throw("close(params)", err)
	}
	s.end(s.client.mi.vu.Context(), p.wire)
	return sobek.Undefined()
}

// do makes one call and records it.
func (s *session) do(what string, kind replyKind, tool string, params sobek.Value,
	send func(context.Context, callParams) *wire.Reply,
) sobek.Value {
	c := s.client
	state := c.mi.state(what + "()")
	p, err := parseParams(c.mi.vu.Runtime(), params, kind == pageReply)
	if err != nil {
		s.throw(what+"()", err)
	}
	if s.wire.Closed() {
		s.throw(what+"()", errors.New("this session is closed: get another from client.session() or client.connect()"))
	}
	base := c.baseTags(state, p.tags)
	c.waitForTurn(state)
	c.mi.roundTripper() // keeps noVUConnectionReuse
	r := send(c.mi.vu.Context(), p)
	l := c.record(state, base, s.wire.Server().ProtocolVersion, tool, r)
	if r.Err != nil && r.Err.Kind == wire.KindSessionLost && c.mi.run.closed(s) && c.options.metrics != metricsOff {
		b := batch{tags: l.tags, meta: base.Metadata, at: r.End}
		b.add(c.mi.metrics.sessionsLost, 1)
		c.push(state, b)
	}
	return newReply(s, kind, r, l)
}

// end closes the session, from its VU or at the end of the run.
func (s *session) end(ctx context.Context, opts wire.Options) {
	wasOpen := s.client.mi.run.closed(s)
	if err := s.wire.Close(ctx, opts); err != nil {
		s.state.Logger.WithError(err).Warn("an MCP session could not be closed")
	}
	if wasOpen && s.client.options.metrics != metricsOff {
		b := batch{tags: s.labels.tags, at: time.Now()}
		b.addTime(s.client.mi.metrics.sessionDuration, time.Since(s.since))
		s.client.mi.run.push(context.WithoutCancel(ctx), s.state.Samples, b.connected())
	}
}

func (s *session) throw(what string, err error) {
	common.Throw(s.client.mi.vu.Runtime(), fmt.Errorf("%s: %w", what, err))
}

// encodeObject is JSON.stringify for an argument that is an object or left out.
func encodeObject(v sobek.Value) ([]byte, error) {
	if common.IsNullish(v) {
		return nil, nil
	}
	obj, ok := v.(*sobek.Object)
	if !ok || obj.ClassName() != "Object" {
		return nil, fmt.Errorf("want an object, got %s", v)
	}
	return obj.MarshalJSON()
}
