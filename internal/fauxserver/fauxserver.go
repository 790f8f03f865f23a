// Package fauxserver is an MCP server that keeps the contract, and breaks it in one chosen way: a fault. It proves that the
// gate catches each kind of fault, without any of the servers under test, and that the contract's vectors can be satisfied.
//
// It is written without an SDK and shares no code with the servers, so that it can be wrong in ways that an SDK prevents.
package fauxserver

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/jsondiff"
	"github.com/mcp-parity/mcp-parity/internal/oracle"
)

const (
	maxBody         = 4 << 20 // bytes of a request
	maxUpstream     = 1 << 20 // bytes of an upstream answer
	upstreamTimeout = 5 * time.Second
)

// versions are the protocol versions with initialize.
var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", contract.Revision20251125}

// JSON-RPC error codes.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeUnknownMethod      = -32601
	codeInvalidParams      = -32602
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// Config says what to serve.
type Config struct {
	Tools []contract.Tool
	// Stateful means sessions, and no revision 2026-07-28.
	Stateful bool
	// UpstreamURL is what fetch_external_data calls.
	UpstreamURL string
	// Fault is what to do wrong; the zero value keeps the contract.
	Fault Fault
}

type object = map[string]any

// server answers requests; the hooks of its fault change what it does.
type server struct {
	config Config
	hooks  hooks
	tools  []any
	oracle oracle.Oracle

	mu       sync.Mutex
	sessions map[string]bool
}

// New returns a server.
func New(config Config) (http.Handler, error) {
	s := &server{config: config, sessions: map[string]bool{}}
	if config.Fault.hooks != nil {
		s.hooks = config.Fault.hooks()
	}
	for _, tool := range config.Tools {
		text, err := json.Marshal(tool)
		if err != nil {
			return nil, err
		}
		definition, err := jsondiff.Parse(text)
		if err != nil {
			return nil, err
		}
		s.tools = append(s.tools, definition)
	}
	s.oracle.Upstream = upstreamClient(config.UpstreamURL)

	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, "ok") })
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { plain(w, "Hello!") })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { plain(w, "up 1\n") })
	mux.HandleFunc("POST /floor", floor)
	mux.HandleFunc("/mcp", s.mcp)
	return mux, nil
}

func plain(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

func floor(w http.ResponseWriter, r *http.Request) {
	var request struct{ ID, Params json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"jsonrpc": "2.0", "id": request.ID, "result": request.Params})
}

// upstreamClient makes the oracle ask the real upstream service. A failure becomes a body that is not JSON, which the
// oracle takes for what it is: a tool error.
func upstreamClient(base string) http.Handler {
	client := &http.Client{
		Timeout:       upstreamTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res, err := client.Get(base + r.URL.Path)
		if err != nil {
			plain(w, "upstream failed: "+err.Error())
			return
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(io.LimitReader(res.Body, maxUpstream+1))
		if err != nil {
			plain(w, "upstream failed: "+err.Error())
			return
		}
		w.WriteHeader(res.StatusCode)
		_, _ = w.Write(body)
	})
}

// call is one request, as far as it was understood.
type call struct {
	id     any
	method string
	params object
	modern bool // revision 2026-07-28
}

// answer is what is sent back.
type answer struct {
	status  int
	header  http.Header
	message object // nil for none
	body    []byte // replaces the message's own text
	stream  bool
}

func result(value any) *answer {
	return &answer{status: http.StatusOK, header: http.Header{}, message: object{"jsonrpc": "2.0", "result": value}}
}

func failure(status, code int, text string) *answer {
	return &answer{status: status, header: http.Header{}, message: object{"jsonrpc": "2.0", "error": object{"code": code, "message": text}}}
}

func (s *server) mcp(w http.ResponseWriter, r *http.Request) {
	switch {
	case !s.hooks.anyHost && !local(r.Host),
		!s.hooks.anyOrigin && r.Header.Get("Origin") != "" && !localOrigin(r.Header.Get("Origin")):
		http.Error(w, "foreign Host or Origin", http.StatusForbidden)
	case r.Method == http.MethodPost:
		s.post(w, r)
	case s.config.Stateful && r.Method == http.MethodGet:
		s.stream(w, r)
	case s.config.Stateful && r.Method == http.MethodDelete:
		s.end(w, r)
	default:
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
	}
}

// local reports whether the host, with or without a port, names this machine.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1", "[::1]"}, host)
}

func localOrigin(origin string) bool {
	_, host, ok := strings.Cut(origin, "://")
	return ok && local(host)
}

// session checks the request's session id, and writes the refusal if it is wrong.
func (s *server) session(w http.ResponseWriter, r *http.Request) bool {
	id := r.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	alive := s.sessions[id]
	s.mu.Unlock()
	switch {
	case id == "":
		http.Error(w, "no session id", http.StatusBadRequest)
		return false
	case !alive && !s.hooks.anySession:
		http.Error(w, "no such session", http.StatusNotFound)
		return false
	}
	return true
}

func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	if !s.session(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func (s *server) end(w http.ResponseWriter, r *http.Request) {
	if !s.session(w, r) {
		return
	}
	s.mu.Lock()
	delete(s.sessions, r.Header.Get("Mcp-Session-Id"))
	s.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) post(w http.ResponseWriter, r *http.Request) {
	if !accepts(r.Header.Values("Accept"), "application/json") || !accepts(r.Header.Values("Accept"), "text/event-stream") {
		http.Error(w, "must accept application/json and text/event-stream", http.StatusNotAcceptable)
		return
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		http.Error(w, "must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body := r.Body
	if !s.hooks.noLimit {
		body = http.MaxBytesReader(w, body, maxBody)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if s.hooks.request != nil {
		text = s.hooks.request(text)
	}
	c, refusal := s.read(r.Header, text)
	if refusal == nil && s.config.Stateful && c.method != "initialize" && !s.session(w, r) {
		return
	}
	a := refusal
	if a == nil && c.id == (jsondiff.Absent{}) {
		a = &answer{status: http.StatusAccepted, header: http.Header{}}
	} else if a == nil {
		a = s.answer(r.Context(), c)
	}
	if a.message != nil {
		a.message["id"] = c.id
		if c.id == (jsondiff.Absent{}) {
			a.message["id"] = nil
		}
	}
	if s.hooks.answer != nil {
		s.hooks.answer(c, a)
	}
	write(w, a)
}

// accepts reports whether one of the media ranges covers the type; no header covers all (RFC 9110).
func accepts(headers []string, want string) bool {
	if len(headers) == 0 {
		return true
	}
	kind, _, _ := strings.Cut(want, "/")
	for _, part := range strings.Split(strings.Join(headers, ","), ",") {
		media, _, err := mime.ParseMediaType(part)
		if err == nil && (media == want || media == kind+"/*" || media == "*/*") {
			return true
		}
	}
	return false
}

// read understands a message, or says how it is refused. The call has an id as soon as one was found.
func (s *server) read(header http.Header, text []byte) (call, *answer) {
	c := call{id: jsondiff.Absent{}}
	value, err := jsondiff.Parse(text, jsontext.AllowDuplicateNames(true))
	if err != nil {
		return c, failure(http.StatusBadRequest, codeParse, err.Error())
	}
	message, ok := value.(object)
	if !ok || message["jsonrpc"] != "2.0" {
		return c, failure(http.StatusBadRequest, codeInvalidRequest, "not a JSON-RPC 2.0 message")
	}
	if id, ok := message["id"]; ok {
		if !validID(id) {
			return c, failure(http.StatusBadRequest, codeInvalidRequest, "an id is a string or an integer")
		}
		c.id = id
	}
	if c.method, ok = message["method"].(string); !ok {
		return c, failure(http.StatusBadRequest, codeInvalidRequest, "no method")
	}
	if params, ok := message["params"]; ok {
		if c.params, ok = params.(object); !ok {
			return c, failure(http.StatusOK, codeInvalidParams, "params must be an object")
		}
	}
	return c, s.checkVersion(header, &c)
}

func validID(id any) bool {
	switch v := id.(type) {
	case string:
		return true
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		return err == nil && n > -1<<53 && n < 1<<53
	}
	return false
}

// checkVersion applies the rules of the version header, and those of revision 2026-07-28.
func (s *server) checkVersion(header http.Header, c *call) *answer {
	version := header.Get("Mcp-Protocol-Version")
	c.modern = version == contract.Revision20260728 && !s.config.Stateful
	if !c.modern {
		if version != "" && !slices.Contains(versions, version) {
			return failure(http.StatusBadRequest, codeUnsupportedVersion, "unsupported protocol version")
		}
		return nil
	}
	if header.Get("Mcp-Method") != c.method {
		return failure(http.StatusBadRequest, codeHeaderMismatch, "Mcp-Method is not the method")
	}
	if name, _ := c.params["name"].(string); c.method == "tools/call" && decodeHeader(header.Get("Mcp-Name")) != name {
		return failure(http.StatusBadRequest, codeHeaderMismatch, "Mcp-Name is not the tool's name")
	}
	meta, _ := c.params["_meta"].(object)
	if meta["io.modelcontextprotocol/protocolVersion"] != version {
		return failure(http.StatusBadRequest, codeHeaderMismatch, "the protocol version is not that of the header")
	}
	return nil
}

func decodeHeader(value string) string {
	encoded, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "?="))
	if err != nil {
		return value
	}
	return string(text)
}

// answer does what a request asks for.
func (s *server) answer(ctx context.Context, c call) *answer {
	a := s.dispatch(ctx, c)
	if result, ok := a.message["result"].(object); ok && c.modern {
		result["resultType"] = "complete"
		result["_meta"] = object{"io.modelcontextprotocol/serverInfo": object{"name": "faux", "version": "1"}}
	}
	return a
}

func (s *server) dispatch(ctx context.Context, c call) *answer {
	switch {
	case c.method == "initialize" && !c.modern:
		return s.initialize(c)
	case c.method == "ping" && !c.modern:
		return result(object{})
	case c.method == "server/discover" && c.modern:
		return result(object{"supportedVersions": []any{contract.Revision20260728}, "capabilities": object{"tools": object{}}, "ttlMs": 0, "cacheScope": "public"})
	case c.method == "tools/list":
		if _, ok := c.params["cursor"]; ok {
			return failure(http.StatusOK, codeInvalidParams, "unknown cursor")
		}
		list := object{"tools": slices.Clone(s.tools)}
		if c.modern {
			list["ttlMs"], list["cacheScope"] = 0, "public"
		}
		return result(list)
	case c.method == "tools/call":
		return s.callTool(ctx, c)
	case c.modern:
		return failure(http.StatusNotFound, codeUnknownMethod, "unknown method")
	}
	return failure(http.StatusOK, codeUnknownMethod, "unknown method")
}

func (s *server) initialize(c call) *answer {
	version, _ := c.params["protocolVersion"].(string)
	if !slices.Contains(versions, version) {
		version = contract.Revision20251125
	}
	a := result(object{
		"protocolVersion": version,
		"capabilities":    object{"tools": object{}},
		"serverInfo":      object{"name": "faux", "version": "1"},
	})
	if s.config.Stateful {
		id := rand.Text()
		s.mu.Lock()
		s.sessions[id] = true
		s.mu.Unlock()
		a.header.Set("Mcp-Session-Id", id)
	}
	return a
}

func (s *server) callTool(ctx context.Context, c call) *answer {
	name, ok := c.params["name"].(string)
	if !ok {
		return failure(http.StatusOK, codeInvalidParams, "params.name must be a string")
	}
	var arguments json.RawMessage
	if value, ok := c.params["arguments"]; ok {
		if _, ok := value.(object); !ok {
			return failure(http.StatusOK, codeInvalidParams, "params.arguments must be an object")
		}
		arguments = json.RawMessage(jsondiff.Text(value))
	}
	structured, err := s.oracle.Call(name, arguments)
	var wrong *oracle.ToolError
	switch {
	case errors.Is(err, oracle.ErrUnknownTool):
		return failure(http.StatusOK, codeInvalidParams, "unknown tool")
	case errors.As(err, &wrong):
		return result(object{"isError": true, "content": []any{object{"type": "text", "text": wrong.Error()}}})
	case err != nil:
		return failure(http.StatusInternalServerError, -32603, err.Error())
	}
	value, err := jsondiff.Parse(structured)
	if err != nil {
		return failure(http.StatusInternalServerError, -32603, err.Error())
	}
	tool := toolCall{name: name, structured: value.(object)} // of every tool of the contract
	if name == "simulate_db_query" {
		ms, _ := strconv.Atoi(jsondiff.Text(tool.structured["delay_ms"]))
		tool.delay = time.Duration(ms) * time.Millisecond
	}
	if s.hooks.tool != nil {
		s.hooks.tool(&tool)
	}
	if tool.serial != nil {
		tool.serial.Lock()
		defer tool.serial.Unlock()
	}
	select {
	case <-time.After(tool.delay):
	case <-ctx.Done():
	}
	return result(object{
		"structuredContent": tool.structured,
		"content":           []any{object{"type": "text", "text": jsondiff.Text(tool.structured)}},
	})
}

// toolCall is a successful call before its answer is written.
type toolCall struct {
	name       string
	structured object
	delay      time.Duration
	serial     *sync.Mutex // held while waiting; nil for none
}

func write(w http.ResponseWriter, a *answer) {
	maps.Copy(w.Header(), a.header)
	body := a.body
	if body == nil && a.message != nil {
		body = []byte(jsondiff.Text(a.message))
		kind := "application/json"
		if a.stream {
			kind = "text/event-stream"
			body = slices.Concat([]byte(": hello\n\nid: 0\nretry: 500\ndata:\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\nevent: message\ndata: "), body, []byte("\n\n"))
		}
		w.Header().Set("Content-Type", kind)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body)
}
