// Package wire speaks MCP. It is made for measuring: nothing is retried, cached or probed behind the
// caller's back, a bad answer ends one call and never the session, and every exchange is timed up to
// the last byte of the reply that matches it. It knows nothing of k6.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// cleanupTimeout limits the end of a session after a handshake that failed halfway.
const cleanupTimeout = 5 * time.Second

// lateLimit is how long a call that was cancelled may still be answered, to be counted as late.
const lateLimit = 5 * time.Second

var errClosed = errors.New("the session was closed")

// Handshake is what opening a session took, whether or not it succeeded.
type Handshake struct {
	// Replies are the exchanges that were made, in order. The GET that opens the stream of SSE is among
	// them only if it failed.
	Replies  []*Reply
	Duration time.Duration
}

// Session is one client's conversation with a server, with or without a session id from the server.
// Its methods may be called from several goroutines at once.
type Session struct {
	cfg       Config
	transport carrier
	url       *url.URL
	header    http.Header // of every POST from now on: shared between requests, never changed
	lastID    atomic.Int64
	lastSize  atomic.Int64 // of the last reply that was no stream
	id        string
	info      ServerInfo
	meta      json.RawMessage // that each request carries, from StatelessVersion on
	lost      atomic.Bool
	closed    atomic.Bool
	progress  sync.Map // of func(Progress), by request id

	// All that goes on beside the calls ends with ctx, and is waited for.
	ctx        context.Context
	cancel     context.CancelCauseFunc
	background sync.WaitGroup
	ending     sync.Mutex
}

// carrier moves the messages of a session.
type carrier interface {
	// exchange sends a message and waits for what answers it.
	exchange(context.Context, *outgoing) *Reply
	// listen opens a stream of what the server sends unasked.
	listen(context.Context, *Stream, ListenOptions, Options) *Reply
	// end says goodbye to the server, where that is possible.
	end(context.Context, Options) error
	// drop frees what the carrier holds, after end or instead of it.
	drop()
}

// outgoing is a message to send.
type outgoing struct {
	id     string // as in the body; empty if no reply is due
	method string
	name   string // for the header Mcp-Name
	body   []byte
	opts   Options
	batch  *batch
	raw    bool // body is the caller's: there may be a reply even without an id
	lasts  bool // the response goes on after the exchange
}

// ServerInfo is what a server says of itself, in the result of initialize or server/discover.
type ServerInfo struct {
	ProtocolVersion string          `json:"protocolVersion"`
	Capabilities    json.RawMessage `json:"capabilities"`
	ServerInfo      json.RawMessage `json:"serverInfo"`
	Instructions    string          `json:"instructions"`
}

// Connect opens a session: initialize and notifications/initialized, or server/discover. On failure
// the error is that of the exchange that failed, and a session that the server has already made is
// ended.
func Connect(ctx context.Context, cfg Config, opts Options) (*Session, Handshake, error) {
	s, err := newSession(cfg)
	if err != nil {
		return nil, Handshake{}, err
	}
	h, failure := s.handshake(ctx, opts)
	if failure != nil {
		opts.Timeout = cleanupTimeout
		_ = s.Close(context.WithoutCancel(ctx), opts) // the failure above is the one to report
		return nil, h, failure
	}
	return s, h, nil
}

// Attach continues a session that was opened elsewhere, over StreamableHTTP. Nothing is sent.
func Attach(cfg Config, id, protocolVersion string) (*Session, error) {
	cfg.ProtocolVersion = protocolVersion
	s, err := newSession(cfg)
	switch {
	case err != nil:
		return nil, err
	case s.cfg.Transport != StreamableHTTP:
		return nil, fmt.Errorf("a session over %s cannot be continued by another connection", s.cfg.Transport)
	case protocolVersion == "" || protocolVersion == Auto:
		return nil, errors.New("protocol version: give the one that the session was opened with")
	}
	s.info.ProtocolVersion = protocolVersion
	s.enter(id)
	// Whoever opened the session may have requests of its own under way: an id must not be used twice.
	s.lastID.Store(rand.Int64N(1 << 52)) // #nosec G404 -- not a secret
	return s, nil
}

func newSession(cfg Config) (*Session, error) {
	cfg, err := cfg.Validate()
	if err != nil {
		return nil, err
	}
	s := &Session{cfg: cfg}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if cfg.Transport == Stdio {
		s.transport = newStdio(s)
		return s, nil
	}
	if s.url, err = url.Parse(cfg.URL); err != nil {
		return nil, err
	}
	s.header = cfg.Header.Clone()
	if s.header == nil {
		s.header = http.Header{}
	}
	s.header.Set("Content-Type", "application/json")
	s.header.Set("Accept", "application/json, text/event-stream")
	if bearer, ok := cfg.Auth.(Bearer); ok {
		s.header.Set("Authorization", "Bearer "+string(bearer))
	}
	if cfg.Transport == SSE {
		s.transport = newSSE(s)
	} else {
		s.transport = &streamable{s}
	}
	return s, nil
}

func (s *Session) handshake(ctx context.Context, opts Options) (h Handshake, failure *Error) {
	start := time.Now()
	defer func() { h.Duration = time.Since(start) }()

	if opener, ok := s.transport.(interface {
		open(context.Context, Options) *Reply
	}); ok {
		if r := opener.open(ctx, opts); r.Err != nil {
			h.Replies = append(h.Replies, r)
			return h, r.Err
		}
	}
	offer := s.cfg.ProtocolVersion
	if offer == Auto && s.cfg.Transport == SSE {
		offer = LatestVersion
	}
	if offer == Auto || offer == StatelessVersion {
		r := s.discover(ctx, opts)
		h.Replies = append(h.Replies, r)
		if r.Err == nil {
			return h, nil
		}
		older := olderVersion(r)
		if offer == StatelessVersion || older == "" {
			return h, r.Err
		}
		s.meta, s.info = nil, ServerInfo{}
		offer = older
	}
	params, err := json.Marshal(map[string]any{
		"protocolVersion": offer,
		"capabilities":    s.cfg.capabilities(),
		"clientInfo":      s.cfg.clientInfo(),
	})
	if err != nil {
		return h, errorf(KindMalformed, "initialize: %w", err)
	}
	r := s.Call(ctx, "initialize", params, opts)
	h.Replies = append(h.Replies, r)
	if r.Err != nil {
		return h, r.Err
	}
	if err := json.Unmarshal(r.Result, &s.info); err != nil {
		s.enter(r.Header.Get("Mcp-Session-Id"))
		r.Err = errorf(KindMalformed, "the result of initialize: %w", err)
		return h, r.Err
	}
	s.enter(r.Header.Get("Mcp-Session-Id"))
	if v := s.info.ProtocolVersion; v == StatelessVersion || !slices.Contains(Versions(), v) {
		r.Err = errorf(KindVersion, "the server answered initialize with protocol version %q; want one of %s",
			v, strings.Join(Versions()[:len(Versions())-1], ", "))
		return h, r.Err
	}
	n := s.Notify(ctx, "notifications/initialized", nil, opts)
	h.Replies = append(h.Replies, n)
	return h, n.Err
}

// enter makes all further requests carry the session's id and revision.
func (s *Session) enter(id string) {
	if s.cfg.Transport == Stdio {
		return
	}
	s.header = s.header.Clone() // what was sent so far was sent with the old one
	if s.id = id; id != "" {
		s.header.Set("Mcp-Session-Id", id)
	}
	if s.info.ProtocolVersion != "" {
		s.header.Set("Mcp-Protocol-Version", s.info.ProtocolVersion)
	}
	s.describe()
}

// describe prepares what each request says of the client where there are no sessions.
func (s *Session) describe() {
	if !s.Stateless() {
		return
	}
	s.meta = json.RawMessage(`{"io.modelcontextprotocol/protocolVersion":"` + StatelessVersion + `"` +
		`,"io.modelcontextprotocol/clientCapabilities":` + string(s.cfg.capabilities()) +
		`,"io.modelcontextprotocol/clientInfo":` + string(s.cfg.clientInfo()) + `}`)
}

// discover asks a server without sessions for what it is.
func (s *Session) discover(ctx context.Context, opts Options) *Reply {
	s.info.ProtocolVersion = StatelessVersion
	var before http.Header
	if s.cfg.Transport != Stdio {
		before = s.header
	}
	s.enter("")
	s.describe()
	r := s.Call(ctx, "server/discover", nil, opts)
	if r.Err == nil {
		var result struct {
			SupportedVersions []string        `json:"supportedVersions"`
			Capabilities      json.RawMessage `json:"capabilities"`
			Instructions      string          `json:"instructions"`
			Meta              struct {
				ServerInfo json.RawMessage `json:"io.modelcontextprotocol/serverInfo"`
			} `json:"_meta"`
			ServerInfo json.RawMessage `json:"serverInfo"`
		}
		if err := json.Unmarshal(r.Result, &result); err != nil {
			r.Err = errorf(KindMalformed, "the result of server/discover: %w", err)
		} else if !slices.Contains(result.SupportedVersions, StatelessVersion) {
			r.Err = errorf(KindVersion, "the server speaks %s, not %s", strings.Join(result.SupportedVersions, ", "), StatelessVersion)
		} else {
			s.info.Capabilities, s.info.Instructions = result.Capabilities, result.Instructions
			if s.info.ServerInfo = result.Meta.ServerInfo; s.info.ServerInfo == nil {
				s.info.ServerInfo = result.ServerInfo
			}
			return r
		}
	}
	if before != nil {
		s.header = before
	}
	return r
}

// olderVersion is the revision to offer to a server whose answer to server/discover says that it does
// not know it. It is empty if the answer says something else, for example that there is no server.
func olderVersion(r *Reply) string {
	supported := struct {
		Supported         []string `json:"supported"`
		SupportedVersions []string `json:"supportedVersions"`
	}{}
	switch r.Err.Kind {
	case KindVersion:
		if r.Err.RPC != nil {
			_ = json.Unmarshal(r.Err.RPC.Data, &supported) // without it, the newest is offered
		} else {
			_ = json.Unmarshal(r.Result, &supported) // it was read before
			supported.Supported = supported.SupportedVersions
		}
	case KindRPC, KindHeaderMismatch:
	case KindHTTP:
		if r.Status < 400 || r.Status > 499 {
			return ""
		}
	default:
		return ""
	}
	for _, v := range slices.Backward(Versions()) {
		if v != StatelessVersion && slices.Contains(supported.Supported, v) {
			return v
		}
	}
	if len(supported.Supported) > 0 {
		return ""
	}
	return LatestVersion
}

// ID is the server's session id, empty when it keeps no session.
func (s *Session) ID() string { return s.id }

// Server is what the server said of itself when the session was opened.
func (s *Session) Server() ServerInfo { return s.info }

// ProtocolVersion is the revision that is spoken.
func (s *Session) ProtocolVersion() string { return s.info.ProtocolVersion }

// Transport is the way messages travel.
func (s *Session) Transport() Transport { return s.cfg.Transport }

// Stateless reports whether the revision is one without sessions.
func (s *Session) Stateless() bool { return s.info.ProtocolVersion == StatelessVersion }

// Alive reports whether the session is neither closed nor lost.
func (s *Session) Alive() bool { return !s.closed.Load() && !s.lost.Load() }

// Closed reports whether Close or Abandon has been called.
func (s *Session) Closed() bool { return s.closed.Load() }

// Call sends a request and waits for its reply. params is a JSON value or empty. From StatelessVersion
// on, a server that wants something of the client says so in its reply; if Config.Replies have all of
// it, the request is made again with the answers, as the protocol has it. The reply is the last one;
// those before it go to Observer.Exchange, and the answers to Observer.ServerRequest.
func (s *Session) Call(ctx context.Context, method string, params []byte, opts Options) *Reply {
	r := s.call(ctx, method, params, opts)
	for round := 1; round < mostRounds && len(s.cfg.Replies) > 0 && s.Stateless(); round++ {
		again := s.answerIn(ctx, params, r)
		if again == nil {
			break
		}
		if observe := s.cfg.Observer.Exchange; observe != nil {
			observe(r)
		}
		r = s.call(ctx, method, again, opts)
	}
	return r
}

func (s *Session) call(ctx context.Context, method string, params []byte, opts Options) *Reply {
	id := s.nextID()
	params, failure := s.addMeta(params, id, opts)
	if failure != nil {
		return failed(method, failure)
	}
	m := &outgoing{id: id, method: method, opts: opts}
	m.body = appendRequest(make([]byte, 0, len(params)+len(method)+64), id, method, params)
	if s.Stateless() {
		m.name = nameOf(method, params)
	}
	if opts.Progress != nil {
		s.progress.Store(id, opts.Progress)
		defer s.progress.Delete(id)
	}
	if opts.CancelAfter > 0 {
		return s.note(s.cancellable(ctx, m))
	}
	return s.note(s.transport.exchange(ctx, m))
}

// failed is the reply of a request that was not sent.
func failed(method string, e *Error) *Reply {
	now := time.Now()
	return &Reply{Method: method, Err: e, Start: now, End: now}
}

// nextID is an id that this session has not used. Ids are numbers, written without a fraction.
func (s *Session) nextID() string { return strconv.FormatInt(s.lastID.Add(1), 10) }

// note keeps what a reply says about the session.
func (s *Session) note(r *Reply) *Reply {
	if r.Err != nil && (r.Err.Kind == KindSessionLost || r.Err.Kind == KindExit) {
		s.lost.Store(true)
	}
	return r
}

// CallTool calls a tool. arguments is a JSON object, or empty to leave the member out. A result with
// isError is an error of KindTool; Result is set all the same.
func (s *Session) CallTool(ctx context.Context, name string, arguments []byte, opts Options) *Reply {
	params := make([]byte, 0, len(name)+len(arguments)+32)
	params = append(params, `{"name":`...)
	params = appendString(params, name)
	if len(arguments) > 0 {
		params = append(params, `,"arguments":`...)
		params = append(params, arguments...)
	}
	params = append(params, '}')
	r := s.Call(ctx, "tools/call", params, opts)
	if r.Err == nil && isToolError(r.Result) {
		r.Err = &Error{Kind: KindTool, Status: r.Status, Message: firstText(r.Result)}
	}
	return r
}

// Notify sends a notification. Any HTTP status in 2xx is success.
func (s *Session) Notify(ctx context.Context, method string, params []byte, opts Options) *Reply {
	opts.Progress = nil // nothing answers a notification
	params, failure := s.addMeta(params, "", opts)
	if failure != nil {
		return failed(method, failure)
	}
	body := appendRequest(make([]byte, 0, len(params)+len(method)+64), "", method, params)
	return s.note(s.transport.exchange(ctx, &outgoing{method: method, body: body, opts: opts}))
}

// Raw sends bytes as they are, with the headers of the session, for tests of how a server takes what
// no client should send. If the bytes are a request with an id, its reply is waited for; otherwise any
// reply is taken, and none is no failure. Timeouts, statuses and what a reply says are judged as in
// Call.
func (s *Session) Raw(ctx context.Context, body []byte, opts Options) *Reply {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	_ = json.Unmarshal(body, &m) // it need not be JSON
	id := string(m.ID)
	if id == "null" || m.Method == "" {
		id = ""
	}
	out := &outgoing{id: id, method: m.Method, body: body, opts: opts, raw: true}
	if s.Stateless() {
		out.name = nameOf(m.Method, m.Params)
	}
	return s.note(s.transport.exchange(ctx, out))
}

// cancellable gives the call up after opts.CancelAfter and tells the server. It goes on waiting for
// the reply for a while, because one that comes is late and worth knowing.
func (s *Session) cancellable(ctx context.Context, m *outgoing) *Reply {
	callCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, stop)
	start, done := time.Now(), make(chan *Reply, 1)
	if !s.spawn(func() { defer stop(); done <- s.transport.exchange(callCtx, m) }) {
		stop()
		return failed(m.method, errorf(KindInterrupted, "%w", errClosed))
	}
	timer := time.NewTimer(m.opts.CancelAfter)
	defer timer.Stop()
	select {
	case r := <-done:
		detach()
		return r
	case <-timer.C:
	}
	detach() // the caller may go: what follows is the session's
	end := time.Now()
	if s.Stateless() && s.cfg.Transport == StreamableHTTP {
		stop() // to close the response is to cancel
	} else {
		s.spawn(func() { s.sendCancelled(m) })
		time.AfterFunc(lateLimit, stop)
	}
	s.spawn(func() {
		r := <-done
		if late := s.cfg.Observer.LateReply; late != nil && (r.Err == nil || r.Err.RPC != nil) {
			late(m.method)
		}
	})
	r := &Reply{
		Method: m.method, Sent: len(m.body), Start: start, End: end,
		Err: errorf(KindCancelled, "cancelled after %s", m.opts.CancelAfter),
	}
	r.Timings.Waiting = end.Sub(start)
	r.Timings.Duration = r.Timings.Waiting
	return r
}

func (s *Session) sendCancelled(m *outgoing) {
	params := []byte(`{"requestId":` + m.id + `,"reason":"not needed any more"}`)
	r := s.Notify(s.ctx, "notifications/cancelled", params, Options{Header: m.opts.Header, Timeout: m.opts.Timeout})
	if observe := s.cfg.Observer.Exchange; observe != nil {
		observe(r)
	}
}

// spawn runs f beside the calls, unless the session has ended.
func (s *Session) spawn(f func()) bool {
	s.ending.Lock()
	defer s.ending.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.background.Go(f)
	return true
}

// Close ends the session: with DELETE if the server keeps one, with the end of the child process. Its
// streams end, and nothing of it goes on when Close returns. Only the first call does anything. A
// server that does not let clients end sessions (405), or has already ended this one (404), is fine.
func (s *Session) Close(ctx context.Context, opts Options) error {
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	err := s.transport.end(ctx, opts)
	s.stop()
	return err
}

// Abandon leaves without telling the server: streams are cut, a child process is killed.
func (s *Session) Abandon() {
	if s.closed.CompareAndSwap(false, true) {
		s.stop()
	}
}

func (s *Session) stop() {
	s.ending.Lock()
	s.cancel(errClosed)
	s.ending.Unlock()
	s.transport.drop()
	s.background.Wait()
}

// withHeader is base with more set over it.
func withHeader(base, more http.Header) http.Header {
	if len(more) == 0 {
		return base
	}
	h := base.Clone()
	for name, values := range more {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return h
}
