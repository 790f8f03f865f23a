package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// session is a Session of index.d.ts.
type session struct {
	client   *client
	wire     *wire.Session
	object   *sobek.Object // made when it is first asked for: a pool has thousands of sessions
	state    *lib.State    // of the VU: k6 keeps one for its whole life
	labels   labels
	since    time.Time
	attached bool // opened elsewhere, and so not to be ended with the run
	lost     atomic.Bool
}

func (s *session) js() *sobek.Object {
	if s.object != nil {
		return s.object
	}
	mi := s.client.mi
	rt := mi.vu.Runtime()
	obj := rt.NewObject()
	server := s.wire.Server()
	set(obj, "id", s.wire.ID())
	set(obj, "protocolVersion", s.wire.ProtocolVersion())
	set(obj, "transport", string(s.wire.Transport()))
	set(obj, "stateless", s.wire.Stateless())
	set(obj, "serverInfo", mi.parse(server.ServerInfo))
	set(obj, "serverCapabilities", mi.parse(server.Capabilities))
	set(obj, "instructions", server.Instructions)
	getter(rt, obj, "alive", func() any { return s.wire.Alive() })
	for _, method := range []struct {
		name    string
		prepare prepare
	}{
		{"callTool", s.callTool},
		{"listTools", s.list("listTools(params)", "tools/list", "tools")},
		{"listResources", s.list("listResources(params)", "resources/list", "resources")},
		{"listResourceTemplates", s.list("listResourceTemplates(params)", "resources/templates/list", "resourceTemplates")},
		{"readResource", s.readResource},
		{"subscribe", s.byURI("subscribe(uri, params)", "resources/subscribe")},
		{"unsubscribe", s.byURI("unsubscribe(uri, params)", "resources/unsubscribe")},
		{"listPrompts", s.list("listPrompts(params)", "prompts/list", "prompts")},
		{"getPrompt", s.getPrompt},
		{"complete", s.complete},
		{"setLogLevel", s.setLogLevel},
		{"ping", s.ping},
		{"request", s.request},
		{"notify", s.notify},
		{"sendRaw", s.sendRaw},
		{"parallel", s.parallel},
		{"batch", s.batch},
		{"listen", s.listen},
		{"close", s.close},
	} {
		set(obj, method.name, mi.wait(method.prepare))
		set(obj, method.name+"Async", mi.promise(method.prepare))
	}
	set(obj, "abandon", func(sobek.FunctionCall) sobek.Value {
		s.end(s.wire.Abandon)
		return sobek.Undefined()
	})
	s.object = obj
	return obj
}

// getter defines a property that is read anew each time.
func getter(rt *sobek.Runtime, obj *sobek.Object, name string, value func() any) {
	get := rt.ToValue(func(sobek.FunctionCall) sobek.Value { return rt.ToValue(value()) })
	if err := obj.DefineAccessorProperty(name, get, nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE); err != nil {
		panic(err) // as in set
	}
}

// request is one request that is ready to be sent.
type request struct {
	about about
	kind  replyKind
	list  string // the member of a list's result
	// body makes the request's params, for a batch.
	body func() []byte
	send func(ctx context.Context, opts wire.Options) *wire.Reply
}

// answer is what became of a request.
type answer struct {
	request request
	replies []*wire.Reply
	labels  labels
}

// check is what must be true before anything is sent.
func (s *session) check(what string) {
	if s.wire.Closed() {
		s.client.throw(what, errors.New("this session is closed: get another from client.session() or client.connect()"))
	}
}

// do is the operation that sends one request.
func (s *session) do(what string, r request, input sobek.Value, takes paramSet, tasks *taskQueue) operation {
	return s.doAll(what, r, input, takes, tasks, func(ctx context.Context, p params) []*wire.Reply {
		return []*wire.Reply{r.send(ctx, p.wire)}
	})
}

func (s *session) doAll(what string, r request, input sobek.Value, takes paramSet, tasks *taskQueue,
	send func(context.Context, params) []*wire.Reply,
) operation {
	sc, p := s.begin(what, input, takes|takesCall)
	var progress *progress
	if p.onProgress != nil {
		progress = newProgress(s, sc, r.about, p.onProgress, tasks)
		p.wire.Progress = progress.arrived
	}
	var a answer
	return operation{
		work: func() {
			a = s.settle(sc, p, r, send(sc.ctx, p))
		},
		finish: func() (sobek.Value, error) {
			if progress != nil && tasks == nil {
				if err := progress.deliver(); err != nil {
					return nil, err
				}
			}
			return s.reply(p, a)
		},
	}
}

// begin reads the params of an operation and takes its scene, or throws.
func (s *session) begin(what string, input sobek.Value, takes paramSet) (scene, params) {
	p := s.client.parse(what, input, takes)
	s.check(what)
	sc := s.client.begin(what, p.tags, true)
	if s.wire.Transport() != wire.Stdio {
		s.client.mi.transports() // keeps noVUConnectionReuse
	}
	if p.throw == nil {
		if p.throw = s.client.options.throw; p.throw == nil {
			p.throw = &sc.state.Options.Throw.Bool
		}
	}
	if p.discard == nil {
		p.discard = &sc.state.Options.DiscardResponseBodies.Bool
	}
	return sc, p
}

// settle records the replies to a request.
func (s *session) settle(sc scene, p params, r request, replies []*wire.Reply) answer {
	a := answer{request: r, replies: replies}
	for _, reply := range replies {
		a.labels = s.client.record(sc, s.wire.ProtocolVersion(), r.about, reply)
		sc = sc.rest()
		if *p.discard {
			reply.Result, reply.Body = nil, nil
		}
	}
	if s.wire.Alive() || s.wire.Closed() || s.lost.Swap(true) {
		return a
	}
	s.client.mi.run.closed(s)
	s.client.count(sc.state, a.labels.tags, s.client.mi.metrics.sessionsLost, 1)
	return a
}

// reply is what a script gets: the reply, or an error if it asks for that.
func (s *session) reply(p params, a answer) (sobek.Value, error) {
	if last := a.replies[len(a.replies)-1]; *p.throw && last.Err != nil {
		return nil, last.Err
	}
	return newReply(s, a), nil
}

func (s *session) callTool(call sobek.FunctionCall, tasks *taskQueue) operation {
	const what = "callTool(name, args, params)"
	r := s.toolRequest(what, call.Argument(0), call.Argument(1))
	return s.do(what, r, call.Argument(2), takesProgress, tasks)
}

func (s *session) toolRequest(what string, nameValue, argsValue sobek.Value) request {
	name := s.stringArg(what, "name", nameValue)
	args := s.objectArg(what, "args", argsValue)
	return request{
		about: about{"tools/call", name}, kind: toolReply,
		body: func() []byte { return encode(withArguments(name, args)) },
		send: func(ctx context.Context, opts wire.Options) *wire.Reply {
			return s.wire.CallTool(ctx, name, args, opts)
		},
	}
}

// rpc is the request of a method with params.
func (s *session) rpc(a about, params []byte) request {
	return request{
		about: a,
		body:  func() []byte { return params },
		send: func(ctx context.Context, opts wire.Options) *wire.Reply {
			return s.wire.Call(ctx, a.method, params, opts)
		},
	}
}

func (s *session) list(what, method, member string) prepare {
	return func(call sobek.FunctionCall, tasks *taskQueue) operation {
		r := request{about: about{method: method}, kind: pageReply, list: member}
		return s.doAll(what, r, call.Argument(0), takesList, tasks, func(ctx context.Context, p params) []*wire.Reply {
			return s.wire.Pages(ctx, method, p.pages, p.wire)
		})
	}
}

func (s *session) readResource(call sobek.FunctionCall, tasks *taskQueue) operation {
	const what = "readResource(uri, params)"
	return s.do(what, s.resourceRequest(what, "resources/read", call.Argument(0)), call.Argument(1), 0, tasks)
}

func (s *session) resourceRequest(what, method string, uriValue sobek.Value) request {
	uri := s.stringArg(what, "uri", uriValue)
	return s.rpc(about{method, uri}, encode(map[string]string{"uri": uri}))
}

func (s *session) byURI(what, method string) prepare {
	return func(call sobek.FunctionCall, tasks *taskQueue) operation {
		return s.do(what, s.resourceRequest(what, method, call.Argument(0)), call.Argument(1), 0, tasks)
	}
}

func (s *session) getPrompt(call sobek.FunctionCall, tasks *taskQueue) operation {
	const what = "getPrompt(name, args, params)"
	return s.do(what, s.promptRequest(what, call.Argument(0), call.Argument(1)), call.Argument(2), 0, tasks)
}

func (s *session) promptRequest(what string, nameValue, argsValue sobek.Value) request {
	name := s.stringArg(what, "name", nameValue)
	args := s.objectArg(what, "args", argsValue)
	return s.rpc(about{"prompts/get", name}, encode(withArguments(name, args)))
}

func withArguments(name string, args []byte) map[string]any {
	params := map[string]any{"name": name}
	if args != nil {
		params["arguments"] = json.RawMessage(args)
	}
	return params
}

func (s *session) complete(call sobek.FunctionCall, tasks *taskQueue) operation {
	const what = "complete(ref, argument, params)"
	ref := map[string]string{}
	err := eachKey(s.client.mi.vu.Runtime(), call.Argument(0), "key", func(key string, v sobek.Value) (err error) {
		switch key {
		case "prompt":
			ref["type"] = "ref/prompt"
			ref["name"], err = parseString(v)
		case "resource":
			ref["type"] = "ref/resource"
			ref["uri"], err = parseString(v)
		default:
			return errUnknown
		}
		return err
	})
	if err == nil && len(ref) != 2 {
		err = errors.New("want {prompt: name} or {resource: uriTemplate}")
	}
	if err != nil {
		s.client.throw(what+": ref", err)
	}
	argument, err := encodeGiven(call.Argument(1))
	if err != nil {
		s.client.throw(what+": argument", err)
	}
	name := ref["name"] + ref["uri"]
	r := s.rpc(about{"completion/complete", name}, encode(map[string]any{"ref": ref, "argument": json.RawMessage(argument)}))
	return s.do(what, r, call.Argument(2), 0, tasks)
}

func (s *session) setLogLevel(call sobek.FunctionCall, tasks *taskQueue) operation {
	const what = "setLogLevel(level, params)"
	level := s.stringArg(what, "level", call.Argument(0))
	r := s.rpc(about{method: "logging/setLevel"}, encode(map[string]string{"level": level}))
	return s.do(what, r, call.Argument(1), 0, tasks)
}

func (s *session) ping(call sobek.FunctionCall, tasks *taskQueue) operation {
	return s.do("ping(params)", s.rpc(about{method: "ping"}, nil), call.Argument(0), 0, tasks)
}

func (s *session) request(call sobek.FunctionCall, tasks *taskQueue) operation {
	const what = "request(method, body, params)"
	r := s.methodRequest(what, call.Argument(0), call.Argument(1))
	return s.do(what, r, call.Argument(2), takesProgress, tasks)
}

func (s *session) methodRequest(what string, methodValue, bodyValue sobek.Value) request {
	method := s.stringArg(what, "method", methodValue)
	return s.rpc(about{method: method}, s.objectArg(what, "body", bodyValue))
}

func (s *session) notify(call sobek.FunctionCall, tasks *taskQueue) operation {
	const what = "notify(method, body, params)"
	method := s.stringArg(what, "method", call.Argument(0))
	body := s.objectArg(what, "body", call.Argument(1))
	r := request{about: about{method: method}, send: func(ctx context.Context, opts wire.Options) *wire.Reply {
		return s.wire.Notify(ctx, method, body, opts)
	}}
	return s.do(what, r, call.Argument(2), 0, tasks)
}

func (s *session) sendRaw(call sobek.FunctionCall, tasks *taskQueue) operation {
	const what = "sendRaw(body, params)"
	var body []byte
	switch v := call.Argument(0).Export().(type) {
	case string:
		body = []byte(v)
	case sobek.ArrayBuffer:
		body = append(body, v.Bytes()...) // the script may change it while it is sent
	default:
		s.client.throw(what, fmt.Errorf("body: want a string or an ArrayBuffer, got %s", call.Argument(0)))
	}
	r := request{about: about{method: "raw"}, kind: rawReply, send: func(ctx context.Context, opts wire.Options) *wire.Reply {
		return s.wire.Raw(ctx, body, opts)
	}}
	return s.do(what, r, call.Argument(1), 0, tasks)
}

func (s *session) close(call sobek.FunctionCall, _ *taskQueue) operation {
	p := s.client.parse("close(params)", call.Argument(0), 0)
	s.client.mi.state("close()")
	ctx := s.client.mi.vu.Context()
	return operation{
		work:   func() { s.end(func() { s.closeWire(ctx, p.wire) }) },
		finish: func() (sobek.Value, error) { return sobek.Undefined(), nil },
	}
}

func (s *session) closeWire(ctx context.Context, opts wire.Options) {
	if err := s.wire.Close(ctx, opts); err != nil {
		s.state.Logger.WithError(err).Warn("an MCP session could not be closed")
	}
}

// end ends the session, from its VU or at the end of the run.
func (s *session) end(how func()) {
	wasOpen := s.client.mi.run.closed(s)
	how()
	if wasOpen {
		s.client.count(s.state, s.labels.tags, s.client.mi.metrics.sessionDuration, metrics.D(time.Since(s.since)))
	}
}

func (s *session) stringArg(what, name string, v sobek.Value) string {
	text, err := parseString(v)
	if err != nil {
		s.client.throw(what+": "+name, err)
	}
	return text
}

func (s *session) objectArg(what, name string, v sobek.Value) []byte {
	raw, err := encodeObject(v)
	if err != nil {
		s.client.throw(what+": "+name, err)
	}
	return raw
}

// encode is for what always marshals: strings, and JSON that k6 has made.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// parse makes a JavaScript value of JSON from the server; absent is undefined.
func (mi *moduleInstance) parse(raw json.RawMessage) sobek.Value {
	if len(raw) == 0 {
		return sobek.Undefined()
	}
	v, err := mi.parseJSON(string(raw))
	if err != nil {
		common.Throw(mi.vu.Runtime(), err)
	}
	return v
}
