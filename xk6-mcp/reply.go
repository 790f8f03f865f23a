package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/metrics"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// replyKind says which of the reply types of index.d.ts an object is.
type replyKind int

const (
	plainReply replyKind = iota
	toolReply
	pageReply
	rawReply
)

var (
	plainKeys = []string{"ok", "error", "status", "headers", "timings", "streamed", "bytes", "events", "result"}
	replyKeys = map[replyKind][]string{
		plainReply: plainKeys,
		toolReply:  slices.Concat(plainKeys, []string{"isError", "content", "structuredContent"}),
		pageReply:  slices.Concat(plainKeys, []string{"items", "nextCursor", "pages"}),
		rawReply:   slices.Concat(plainKeys, []string{"body"}),
	}
	plainMethods = []string{"raw", "reject"}
	replyMethods = map[replyKind][]string{
		plainReply: plainMethods,
		toolReply:  slices.Concat(plainMethods, []string{"text", "json"}),
		pageReply:  plainMethods,
		rawReply:   plainMethods,
	}
)

// reply is a reply as a script sees it. Nothing of it is made before it is asked for: most scripts look
// at ok, and a load generator that parses what nobody reads measures itself.
type reply struct {
	session *session
	kind    replyKind
	wire    *wire.Reply   // the last one of a list
	pages   []*wire.Reply // of a list
	list    string        // the member of its results
	labels  labels
	result  sobek.Value // nil until it is parsed
}

func newReply(s *session, a answer) sobek.Value {
	return s.client.mi.vu.Runtime().NewDynamicObject(&reply{
		session: s, kind: a.request.kind, list: a.request.list, labels: a.labels,
		wire: a.replies[len(a.replies)-1], pages: a.replies,
	})
}

// Get implements sobek.DynamicObject.
func (r *reply) Get(key string) sobek.Value {
	if !r.Has(key) {
		return nil
	}
	rt := r.session.client.mi.vu.Runtime()
	switch key {
	case "ok":
		return rt.ToValue(r.wire.Err == nil)
	case "error":
		if r.wire.Err == nil {
			return sobek.Undefined()
		}
		return newError(rt, r.wire.Err)
	case "status":
		return rt.ToValue(r.wire.Status)
	case "headers":
		headers := rt.NewObject()
		for name, values := range r.wire.Header {
			set(headers, name, strings.Join(values, ", "))
		}
		return headers
	case "timings":
		return newTimings(rt, r.wire.Timings)
	case "streamed":
		return rt.ToValue(r.wire.Streamed)
	case "bytes":
		return rt.ToValue(r.wire.Received)
	case "events":
		return rt.ToValue(r.wire.Events)
	case "result":
		return r.parsed()
	case "isError":
		return rt.ToValue(r.member("isError").ToBoolean())
	case "content", "structuredContent", "nextCursor":
		return r.member(key)
	case "items":
		return r.items()
	case "pages":
		return rt.ToValue(len(r.pages))
	case "body":
		return rt.ToValue(string(r.wire.Body))
	case "raw":
		return rt.ToValue(func(sobek.FunctionCall) sobek.Value { return rt.ToValue(string(r.wire.Result)) })
	case "reject":
		return rt.ToValue(r.reject)
	case "text":
		return rt.ToValue(func(sobek.FunctionCall) sobek.Value { return rt.ToValue(r.text()) })
	default: // "json": Has lets nothing else through
		return rt.ToValue(r.json)
	}
}

// Has implements sobek.DynamicObject.
func (r *reply) Has(key string) bool {
	return slices.Contains(replyKeys[r.kind], key) || slices.Contains(replyMethods[r.kind], key)
}

// Keys implements sobek.DynamicObject: what JSON.stringify and console.log show.
func (r *reply) Keys() []string { return replyKeys[r.kind] }

// Set implements sobek.DynamicObject: a reply cannot be changed.
func (r *reply) Set(string, sobek.Value) bool { return false }

// Delete implements sobek.DynamicObject.
func (r *reply) Delete(key string) bool { return !r.Has(key) }

func (r *reply) parsed() sobek.Value {
	if r.result == nil {
		r.result = r.session.client.mi.parse(r.wire.Result)
	}
	return r.result
}

// member of the result, undefined when there is none.
func (r *reply) member(name string) sobek.Value {
	if result, ok := r.parsed().(*sobek.Object); ok {
		if v := result.Get(name); v != nil {
			return v
		}
	}
	return sobek.Undefined()
}

// items of all pages that have arrived.
func (r *reply) items() sobek.Value {
	rt := r.session.client.mi.vu.Runtime()
	var all []any
	for i, page := range r.pages {
		result := r.parsed
		if i < len(r.pages)-1 {
			result = func() sobek.Value { return r.session.client.mi.parse(page.Result) }
		}
		obj, ok := result().(*sobek.Object)
		if !ok {
			continue // a failed page
		}
		list, ok := obj.Get(r.list).(*sobek.Object)
		if !ok || list.ClassName() != "Array" {
			continue
		}
		if len(r.pages) == 1 {
			return list
		}
		rt.ForOf(list, func(item sobek.Value) bool {
			all = append(all, item)
			return true
		})
	}
	return rt.NewArray(all...)
}

// text joins the text blocks of a tool result.
func (r *reply) text() string {
	var v struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if len(r.wire.Result) == 0 || json.Unmarshal(r.wire.Result, &v) != nil {
		return ""
	}
	var texts []string
	for _, c := range v.Content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// json is structuredContent, or else the text as JSON; text that is none throws, as JSON.parse does.
func (r *reply) json(sobek.FunctionCall) sobek.Value {
	if v := r.member("structuredContent"); !common.IsNullish(v) {
		return v
	}
	v, err := r.session.client.mi.parseJSON(r.text())
	if err != nil {
		common.Throw(r.session.client.mi.vu.Runtime(), err)
	}
	return v
}

// reject counts an answer as wrong.
func (r *reply) reject(call sobek.FunctionCall) sobek.Value {
	c := r.session.client
	why := ""
	if !common.IsNullish(call.Argument(0)) {
		why = call.Argument(0).String()
	}
	if r.labels.hist != nil {
		r.labels.hist.Reject(why)
	}
	c.count(r.session.state, r.labels.tags, c.mi.metrics.wrongAnswers, 1)
	return sobek.Undefined()
}

func newTimings(rt *sobek.Runtime, t wire.Timings) sobek.Value {
	obj := rt.NewObject()
	for name, d := range map[string]time.Duration{
		"blocked": t.Blocked, "connecting": t.Connecting, "tlsHandshaking": t.TLSHandshaking,
		"sending": t.Sending, "waiting": t.Waiting, "receiving": t.Receiving, "duration": t.Duration,
	} {
		set(obj, name, metrics.D(d))
	}
	if t.FirstEvent > 0 {
		set(obj, "firstEvent", metrics.D(t.FirstEvent))
	}
	return obj
}
