package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib/types"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// Which metrics a client emits.
const (
	metricsOff    = "off"
	metricsBasic  = "basic"
	metricsPhases = "phases"
)

// clientOptions are the target and the options of new Client(target, options).
type clientOptions struct {
	wire    wire.Config
	url     string      // what the tag url says: the URL, or the program of a stdio server
	tags    sobek.Value // checked when they are used, as k6 does
	metrics string
	throw   *bool // nil: as k6's throw option says
}

func parseClient(mi *moduleInstance, target, options sobek.Value) (clientOptions, error) {
	rt := mi.vu.Runtime()
	o := clientOptions{
		wire:    wire.Config{ClientVersion: Version},
		metrics: metricsPhases,
	}
	if err := o.parseTarget(rt, target, mi.run.logger); err != nil {
		return o, err
	}
	err := eachKey(rt, options, "option", func(key string, v sobek.Value) (err error) {
		switch key {
		case "protocolVersion":
			o.wire.ProtocolVersion, err = parseString(v)
		case "clientInfo":
			o.wire.ClientInfo, err = parseClientInfo(v)
		case "capabilities":
			o.wire.Capabilities, err = encodeGiven(v)
		case "headers":
			o.wire.Header, err = parseHeaders(rt, v)
		case "auth":
			o.wire.Auth, err = parseAuth(rt, v, mi.run.tokens)
		case "tags":
			o.tags = v
		case "timeout":
			o.wire.Timeout, err = parseDuration(v)
		case "maxMessageSize":
			o.wire.MaxMessageSize, err = parseWhole(v, "bytes")
		case "replies":
			o.wire.Replies, err = parseReplies(rt, v)
		case "throw":
			o.throw, err = parseBool(v)
		case "histograms":
			var dir string
			if dir, err = parseString(v); err == nil {
				err = mi.run.keepHistograms(dir)
			}
		case "metrics":
			o.metrics, err = parseOneOf(v, metricsOff, metricsBasic, metricsPhases)
		default:
			return errUnknown
		}
		return err
	})
	if err != nil {
		return o, err
	}
	o.wire, err = o.wire.Validate()
	return o, err
}

func (o *clientOptions) parseTarget(rt *sobek.Runtime, target sobek.Value, logger logrus.FieldLogger) error {
	if common.IsNullish(target) {
		return errors.New("want the URL of an MCP endpoint, such as http://127.0.0.1:8081/mcp, or {command: [program, ...arguments]}")
	}
	if _, ok := target.(*sobek.Object); !ok {
		url, err := parseString(target)
		o.wire.URL, o.url = url, url
		return err
	}
	var overHTTP, stdio []string // the keys of each
	err := eachKey(rt, target, "target key", func(key string, v sobek.Value) (err error) {
		switch key {
		case "url":
			overHTTP = append(overHTTP, key)
			o.wire.URL, err = parseString(v)
		case "transport":
			overHTTP = append(overHTTP, key)
			var name string
			name, err = parseOneOf(v, string(wire.StreamableHTTP), string(wire.SSE))
			o.wire.Transport = wire.Transport(name)
		case "command":
			stdio = append(stdio, key)
			o.wire.Command, err = parseCommand(rt, v)
		case "env":
			stdio = append(stdio, key)
			o.wire.Env, err = parseEnv(rt, v)
		case "cwd":
			stdio = append(stdio, key)
			o.wire.Dir, err = parseString(v)
		case "stderr":
			stdio = append(stdio, key)
			var to string
			if to, err = parseOneOf(v, "discard", "log"); to == "log" {
				o.wire.Stderr = func(line string) { logger.WithField("source", "mcp-stderr").Info(line) }
			}
		default:
			return errUnknown
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case len(overHTTP) > 0 && len(stdio) > 0:
		return fmt.Errorf("target: %q is of a server over HTTP and %q of one over stdio: give the keys of one of them", overHTTP[0], stdio[0])
	case len(stdio) > 0 && len(o.wire.Command) == 0:
		return errors.New(`target: "command" is missing: want [program, ...arguments]`)
	case len(stdio) > 0:
		o.wire.Transport = wire.Stdio
		o.url = "stdio:" + o.wire.Command[0]
	default:
		o.url = o.wire.URL
	}
	return nil
}

func parseCommand(rt *sobek.Runtime, v sobek.Value) ([]string, error) {
	if s, ok := v.(sobek.String); ok {
		return strings.Fields(s.String()), nil
	}
	var command []string
	if obj, ok := v.(*sobek.Object); !ok || obj.ClassName() != "Array" || rt.ExportTo(v, &command) != nil || len(command) == 0 {
		return nil, fmt.Errorf("want [program, ...arguments], or a string that is split at spaces, got %s", v)
	}
	return command, nil
}

func parseEnv(rt *sobek.Runtime, v sobek.Value) (env []string, err error) {
	err = eachKey(rt, v, "variable", func(name string, v sobek.Value) error {
		env = append(env, name+"="+v.String())
		return nil
	})
	return env, err
}

// parseClientInfo reads what initialize says of the client.
func parseClientInfo(v sobek.Value) (json.RawMessage, error) {
	raw, err := encodeGiven(v)
	if err != nil {
		return nil, err
	}
	var info struct{ Name, Version *string }
	if err := json.Unmarshal(raw, &info); err != nil || info.Name == nil || info.Version == nil {
		return nil, errors.New(`want {name: "...", version: "..."}`)
	}
	return raw, nil
}

func parseReplies(rt *sobek.Runtime, v sobek.Value) (map[string]wire.Canned, error) {
	replies := map[string]wire.Canned{}
	err := eachKey(rt, v, "reply", func(method string, v sobek.Value) (err error) {
		replies[method], err = parseCanned(rt, method, v)
		return err
	})
	return replies, err
}

func parseCanned(rt *sobek.Runtime, method string, v sobek.Value) (c wire.Canned, err error) {
	if _, ok := v.(*sobek.Object); !ok {
		canned, known := wire.DefaultReply(method)
		if b, isBool := v.Export().(bool); !isBool || !b || !known {
			return c, errors.New("want {result}, {error} or, for sampling/createMessage, elicitation/create and roots/list, true")
		}
		return canned, nil
	}
	err = eachKey(rt, v, "key", func(key string, v sobek.Value) (err error) {
		switch key {
		case "result":
			c.Result, err = encodeGiven(v)
		case "error":
			var raw []byte
			if raw, err = encodeGiven(v); err == nil {
				c.Error = &wire.RPCError{}
				err = json.Unmarshal(raw, c.Error)
			}
		case "delay":
			c.Delay, err = parseDuration(v)
		default:
			return errUnknown
		}
		return err
	})
	if err == nil && (c.Result == nil) == (c.Error == nil) {
		if canned, known := wire.DefaultReply(method); known && c.Error == nil {
			c.Result = canned.Result // only a delay is given
		} else {
			err = errors.New(`want either "result" or "error"`)
		}
	}
	return c, err
}

func parseAuth(rt *sobek.Runtime, v sobek.Value, tokens *wire.Tokens) (wire.Auth, error) {
	var kind, token string
	var credentials wire.ClientCredentials
	var other []string // keys of client credentials
	err := eachKey(rt, v, "key", func(key string, v sobek.Value) (err error) {
		text := func(to *string) {
			other = append(other, key)
			*to, err = parseString(v)
		}
		switch key {
		case "type":
			kind, err = parseOneOf(v, "bearer", "client_credentials")
		case "token":
			token, err = parseString(v)
		case "tokenUrl":
			text(&credentials.TokenURL)
		case "clientId":
			text(&credentials.ClientID)
		case "clientSecret":
			text(&credentials.ClientSecret)
		case "scope":
			text(&credentials.Scope)
		case "audience":
			text(&credentials.Audience)
		case "resource":
			text(&credentials.Resource)
		case "style":
			other = append(other, key)
			credentials.Style, err = parseOneOf(v, "basic", "post")
		case "refreshBefore":
			other = append(other, key)
			credentials.RefreshBefore, err = parseDuration(v)
		default:
			return errUnknown
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case kind == "bearer" && token != "" && len(other) == 0:
		return wire.Bearer(token), nil
	case kind == "bearer":
		return nil, errors.New(`want {type: "bearer", token: "..."}`)
	case kind == "client_credentials" && token == "":
		if err := credentials.Validate(); err != nil {
			return nil, err
		}
		return tokens.Auth(credentials), nil
	case kind == "client_credentials":
		return nil, errors.New(`"token" belongs to type "bearer"`)
	default:
		return nil, errors.New(`"type" is missing: want "bearer" or "client_credentials"`)
	}
}

// paramSet says which params an operation takes besides headers, tags and timeout.
type paramSet uint

const (
	takesCall         paramSet = 1 << iota // meta, cancelAfter, discardResult, throw
	takesList                              // cursor, all, maxPages
	takesProgress                          // onProgress
	takesSubscription                      // notifications
	takesQueue                             // queue, lastEventId
	takesPool                              // rate, concurrency, listen
)

// params of one operation.
type params struct {
	wire       wire.Options
	tags       sobek.Value
	discard    *bool
	throw      *bool
	pages      wire.PageOptions
	onProgress sobek.Callable

	listen      wire.ListenOptions
	rate        float64 // sessions per second, 0 for no limit
	concurrency int
	listens     bool
}

// parseParams reads the params of one operation.
func parseParams(rt *sobek.Runtime, input sobek.Value, takes paramSet) (p params, err error) {
	err = eachKey(rt, input, "param", func(key string, v sobek.Value) (err error) {
		if needs, ok := paramsOf[key]; !ok || takes&needs != needs {
			return errUnknown
		}
		switch key {
		case "headers":
			p.wire.Header, err = parseHeaders(rt, v)
		case "tags":
			p.tags = v
		case "timeout":
			p.wire.Timeout, err = parseDuration(v)
		case "meta":
			p.wire.Meta, err = encodeGiven(v)
		case "cancelAfter":
			p.wire.CancelAfter, err = parseDuration(v)
		case "discardResult":
			p.discard, err = parseBool(v)
		case "throw":
			p.throw, err = parseBool(v)
		case "cursor":
			p.pages.Cursor, err = parseString(v)
		case "all":
			var all *bool
			if all, err = parseBool(v); err == nil {
				p.pages.All = *all
			}
		case "maxPages":
			p.pages.MaxPages, err = parseWhole(v, "pages")
		case "onProgress":
			p.onProgress, err = parseFunction(v)
		case "queue":
			p.listen.Queue, err = parseWhole(v, "notifications")
		case "lastEventId":
			p.listen.LastEventID, err = parseString(v)
		case "notifications":
			p.listen.Subscribe, err = encodeGiven(v)
		case "rate":
			if p.rate = v.ToFloat(); !(p.rate > 0) || math.IsInf(p.rate, 0) {
				err = fmt.Errorf("want a number of sessions per second that is more than 0, got %s", v)
			}
		case "concurrency":
			p.concurrency, err = parseWhole(v, "sessions")
		case "listen":
			var listen *bool
			if listen, err = parseBool(v); err == nil {
				p.listens = *listen
			}
		}
		return err
	})
	return p, err
}

var paramsOf = map[string]paramSet{
	"headers": 0, "tags": 0, "timeout": 0,
	"meta": takesCall, "cancelAfter": takesCall, "discardResult": takesCall, "throw": takesCall,
	"cursor": takesList, "all": takesList, "maxPages": takesList,
	"onProgress":    takesProgress,
	"notifications": takesSubscription,
	"queue":         takesQueue, "lastEventId": takesQueue,
	"rate": takesPool, "concurrency": takesPool, "listen": takesPool,
}

var errUnknown = errors.New("unknown")

// eachKey calls set for the keys of an object that may be absent. set returns errUnknown for a key
// that it does not know.
func eachKey(rt *sobek.Runtime, input sobek.Value, what string, set func(key string, v sobek.Value) error) error {
	if common.IsNullish(input) {
		return nil
	}
	if _, ok := input.(*sobek.Object); !ok {
		return fmt.Errorf("%s: want an object, got %s", plural(what), input)
	}
	obj := input.ToObject(rt)
	for _, key := range obj.Keys() {
		v := obj.Get(key)
		err := set(key, v)
		switch {
		case errors.Is(err, errUnknown):
			return fmt.Errorf("unknown %s %q", what, key)
		case err != nil:
			return fmt.Errorf("%s %q: %w", what, key, err)
		}
	}
	return nil
}

func plural(noun string) string {
	if strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey") {
		return strings.TrimSuffix(noun, "y") + "ies"
	}
	return noun + "s"
}

func parseString(v sobek.Value) (string, error) {
	if s, ok := v.(sobek.String); ok {
		return s.String(), nil
	}
	return "", fmt.Errorf("want a string, got %s", v)
}

func parseOneOf(v sobek.Value, values ...string) (string, error) {
	s, err := parseString(v)
	if err != nil {
		return "", err
	}
	if !slices.Contains(values, s) {
		last := len(values) - 1
		return "", fmt.Errorf(`%q: want "%s" or "%s"`, s, strings.Join(values[:last], `", "`), values[last])
	}
	return s, nil
}

func parseBool(v sobek.Value) (*bool, error) {
	b, ok := v.Export().(bool)
	if !ok {
		return nil, fmt.Errorf("want true or false, got %s", v)
	}
	return &b, nil
}

func parseFunction(v sobek.Value) (sobek.Callable, error) {
	fn, ok := sobek.AssertFunction(v)
	if !ok {
		return nil, fmt.Errorf("want a function, got %s", v)
	}
	return fn, nil
}

// parseDuration takes milliseconds or a string such as "1m30s". Zero would mean no limit at all in
// k6's own modules and is refused here rather than understood differently.
func parseDuration(v sobek.Value) (time.Duration, error) {
	d, err := types.GetDurationValue(v.Export())
	if err == nil && d <= 0 {
		err = fmt.Errorf("want more than 0, got %s", v)
	}
	return d, err
}

func parseWhole(v sobek.Value, of string) (int, error) {
	n := v.ToFloat()
	if !(n >= 1) || n > math.MaxInt32 || n != math.Trunc(n) {
		return 0, fmt.Errorf("want a whole number of %s from 1 to %d, got %s", of, math.MaxInt32, v)
	}
	return int(n), nil
}

// parseHeaders reads headers; null leaves one out that would be sent otherwise.
func parseHeaders(rt *sobek.Runtime, v sobek.Value) (http.Header, error) {
	if _, ok := v.(*sobek.Object); !ok {
		return nil, fmt.Errorf("want an object, got %s", v)
	}
	h := http.Header{}
	obj := v.ToObject(rt)
	for _, name := range obj.Keys() {
		v := obj.Get(name)
		if sobek.IsNull(v) {
			h[http.CanonicalHeaderKey(name)] = []string{}
			continue
		}
		value := v.String()
		if strings.ContainsAny(name+value, "\r\n") {
			return nil, fmt.Errorf("header %q has a line break", name)
		}
		h.Set(name, value)
	}
	return h, nil
}

// encoded is an Encoded of index.d.ts: an object whose JSON is made once, and used in many calls.
type encoded struct{ json []byte }

// MarshalJSON implements json.Marshaler, for JSON.stringify.
func (e *encoded) MarshalJSON() ([]byte, error) { return e.json, nil }

// encode makes an Encoded.
func (mi *moduleInstance) encode(call sobek.FunctionCall) sobek.Value {
	rt := mi.vu.Runtime()
	raw, err := encodeGiven(call.Argument(0))
	if err != nil {
		common.Throw(rt, fmt.Errorf("encode(value): %w", err))
	}
	return rt.ToValue(&encoded{raw})
}

// encodeObject is JSON.stringify for an argument that is an object, an Encoded, or left out.
func encodeObject(v sobek.Value) ([]byte, error) {
	if common.IsNullish(v) {
		return nil, nil
	}
	if v.ExportType() == reflect.TypeFor[*encoded]() {
		if e, ok := v.Export().(*encoded); ok {
			return e.json, nil
		}
	}
	return encodeGiven(v)
}

// encodeGiven is JSON.stringify for an object.
func encodeGiven(v sobek.Value) ([]byte, error) {
	obj, ok := v.(*sobek.Object)
	if !ok || obj.ClassName() != "Object" {
		return nil, fmt.Errorf("want an object, got %s", v)
	}
	return obj.MarshalJSON()
}

// withUserAgent adds k6's user agent to the headers of a client that has none of its own.
func withUserAgent(h http.Header, agent string) http.Header {
	if h.Get("User-Agent") != "" {
		return h
	}
	h = maps.Clone(h)
	if h == nil {
		h = http.Header{}
	}
	h.Set("User-Agent", agent)
	return h
}
