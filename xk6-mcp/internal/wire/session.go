// Package wire speaks MCP over Streamable HTTP. It is made for measuring: nothing is retried, cached
// or probed behind the caller's back, a bad answer ends one call and never the session, and every
// exchange is timed up to the last byte of the reply that matches it. It knows nothing of k6.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// LatestVersion is the newest revision that this client speaks, and the one it offers by default.
const LatestVersion = "2025-11-25"

// Versions are the revisions that this client speaks, oldest first. A server may answer a newer offer
// with an older one of them.
func Versions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", LatestVersion}
}

// Defaults of Config.
const (
	DefaultTimeout        = 60 * time.Second
	DefaultMaxMessageSize = 16 << 20
)

// cleanupTimeout limits the DELETE after a handshake that failed halfway.
const cleanupTimeout = 5 * time.Second

// Config says where a session is opened and how its requests are sent. The zero value of every field
// but URL, HTTP and ClientVersion is good.
type Config struct {
	// URL of the MCP endpoint: http or https, without credentials.
	URL string
	// HTTP sends the requests. Its connection pool is the sessions' pool.
	HTTP http.RoundTripper
	// Header goes on every request; the headers of the protocol win over it.
	Header http.Header
	// Timeout of one exchange, from the call to the decoded reply.
	Timeout time.Duration
	// MaxMessageSize limits one JSON body and one event, in bytes.
	MaxMessageSize int
	// ProtocolVersion is the revision to offer.
	ProtocolVersion string
	// ClientVersion is the version in the clientInfo of initialize.
	ClientVersion string
}

// Validate returns the configuration with its defaults filled in, or what is wrong with it.
func (c Config) Validate() (Config, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return c, fmt.Errorf("url: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return c, fmt.Errorf("url %q: want http://host/path or https://host/path", c.URL)
	case u.User != nil:
		return c, errors.New("url: put credentials in an Authorization header, not in the URL")
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxMessageSize == 0 {
		c.MaxMessageSize = DefaultMaxMessageSize
	}
	if c.ProtocolVersion == "" {
		c.ProtocolVersion = LatestVersion
	}
	switch {
	case c.Timeout < 0:
		return c, fmt.Errorf("timeout %s: want more than 0", c.Timeout)
	case c.MaxMessageSize < 0:
		return c, fmt.Errorf("maximum message size %d: want more than 0", c.MaxMessageSize)
	case !slices.Contains(Versions(), c.ProtocolVersion):
		return c, fmt.Errorf("protocol version %q: want one of %s", c.ProtocolVersion, strings.Join(Versions(), ", "))
	}
	return c, nil
}

// Options are what one call may set for itself.
type Options struct {
	// Header goes on this request, over the headers of Config.
	Header http.Header
	// Timeout replaces that of Config when it is not 0.
	Timeout time.Duration
}

// Reply is what became of one request or notification.
type Reply struct {
	Method string
	// Result is the result member as it arrived; nil when there is none.
	Result json.RawMessage
	// Err is nil when a result arrived and no tool error is in it.
	Err *Error
	// Status and Header of the HTTP response; 0 and nil when none arrived.
	Status int
	Header http.Header
	// Streamed says that the response was an event stream, Events how many messages came on it before
	// the reply.
	Streamed bool
	Events   int
	// Sent and Received are the sizes of the JSON-RPC messages, in bytes.
	Sent, Received int
	// NewConnection says that the exchange had to open its connection.
	NewConnection bool
	Start, End    time.Time
	Timings       Timings
}

// Handshake is what opening a session took, whether or not it succeeded.
type Handshake struct {
	// Replies are the exchanges that were made, in order: initialize, notifications/initialized.
	Replies  []*Reply
	Duration time.Duration
}

// Session is one client's conversation with a server, with or without a session id from the server.
// Its methods may be called from several goroutines at once.
type Session struct {
	cfg    Config
	url    *url.URL
	header http.Header // of every request from now on: shared between requests, never changed
	lastID atomic.Int64
	id     string
	info   ServerInfo
	lost   atomic.Bool
	closed atomic.Bool
}

// ServerInfo is the result of initialize.
type ServerInfo struct {
	ProtocolVersion string          `json:"protocolVersion"`
	Capabilities    json.RawMessage `json:"capabilities"`
	ServerInfo      json.RawMessage `json:"serverInfo"`
	Instructions    string          `json:"instructions"`
}

// Connect opens a session: initialize, then notifications/initialized. On failure the error is that of
// the exchange that failed, and a session that the server has already made is ended.
func Connect(ctx context.Context, cfg Config, opts Options) (*Session, Handshake, error) {
	cfg, err := cfg.Validate()
	if err != nil {
		return nil, Handshake{}, err
	}
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, Handshake{}, err
	}
	s := &Session{cfg: cfg, url: u, header: requestHeader(cfg.Header)}
	h, failure := s.handshake(ctx, opts)
	if failure != nil {
		opts.Timeout = cleanupTimeout
		_ = s.Close(context.WithoutCancel(ctx), opts) // the failure above is the one to report
		return nil, h, failure
	}
	return s, h, nil
}

func (s *Session) handshake(ctx context.Context, opts Options) (h Handshake, failure *Error) {
	start := time.Now()
	defer func() { h.Duration = time.Since(start) }()

	params, err := json.Marshal(map[string]any{
		"protocolVersion": s.cfg.ProtocolVersion,
		"capabilities":    struct{}{},
		"clientInfo":      map[string]string{"name": "xk6-mcp", "version": s.cfg.ClientVersion},
	})
	if err != nil {
		return h, errorf(KindMalformed, "initialize: %w", err)
	}
	r := s.Call(ctx, "initialize", params, opts)
	h.Replies = append(h.Replies, r)
	if r.Err != nil {
		return h, r.Err
	}
	s.header = s.header.Clone() // initialize was sent with the old one
	if s.id = r.Header.Get("Mcp-Session-Id"); s.id != "" {
		s.header.Set("Mcp-Session-Id", s.id)
	}
	if err := json.Unmarshal(r.Result, &s.info); err != nil {
		r.Err = errorf(KindMalformed, "the result of initialize: %w", err)
		return h, r.Err
	}
	if !slices.Contains(Versions(), s.info.ProtocolVersion) {
		r.Err = errorf(KindVersion, "the server chose protocol version %q; this client speaks %s",
			s.info.ProtocolVersion, strings.Join(Versions(), ", "))
		return h, r.Err
	}
	s.header.Set("Mcp-Protocol-Version", s.info.ProtocolVersion)

	n := s.Notify(ctx, "notifications/initialized", nil, opts)
	h.Replies = append(h.Replies, n)
	return h, n.Err
}

// ID is the server's session id, empty when it keeps no session.
func (s *Session) ID() string { return s.id }

// Server is what the server said of itself in initialize.
func (s *Session) Server() ServerInfo { return s.info }

// Alive reports whether the session is neither closed nor lost.
func (s *Session) Alive() bool { return !s.closed.Load() && !s.lost.Load() }

// Closed reports whether Close has been called.
func (s *Session) Closed() bool { return s.closed.Load() }

// Call sends a request and waits for its reply. params is a JSON value or empty.
func (s *Session) Call(ctx context.Context, method string, params []byte, opts Options) *Reply {
	id := s.lastID.Add(1)
	r := s.post(ctx, id, method, params, opts)
	if r.Err != nil && r.Err.Kind == KindSessionLost {
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
	return s.post(ctx, 0, method, params, opts)
}

// Close ends the session with DELETE if the server keeps one. Only the first call does anything. A
// server that does not let clients end sessions (405), or has already ended this one (404), is fine.
func (s *Session) Close(ctx context.Context, opts Options) error {
	if !s.closed.CompareAndSwap(false, true) || s.id == "" || s.lost.Load() {
		return nil
	}
	r := s.send(ctx, http.MethodDelete, &Reply{Method: "DELETE"}, nil, opts, func(*exchange, *http.Response) *Error { return nil })
	if r.Err != nil && r.Status != http.StatusMethodNotAllowed && r.Status != http.StatusNotFound {
		return r.Err
	}
	return nil
}

func requestHeader(base http.Header) http.Header {
	h := base.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	return h
}
