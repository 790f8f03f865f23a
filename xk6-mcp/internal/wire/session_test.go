package wire_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/mcptest"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// serve starts a server and returns its configuration for a client with a connection pool of its own.
func serve(t testing.TB, h http.Handler) wire.Config {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return wire.Config{URL: server.URL + "/mcp", HTTP: transport, ClientVersion: "test"}
}

func connect(t testing.TB, cfg wire.Config) *wire.Session {
	t.Helper()
	s, _, err := wire.Connect(context.Background(), cfg, wire.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background(), wire.Options{})) })
	return s
}

var sdkModes = map[string]*sdk.StreamableHTTPOptions{
	"stateful, JSON":           {JSONResponse: true},
	"stateful, event streams":  {},
	"stateless, JSON":          {Stateless: true, JSONResponse: true},
	"stateless, event streams": {Stateless: true},
}

func TestSessionWithSDKServer(t *testing.T) {
	t.Parallel()
	for name, opts := range sdkModes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := serve(t, mcptest.Handler(opts))
			s, handshake, err := wire.Connect(context.Background(), cfg, wire.Options{})
			require.NoError(t, err)
			require.Len(t, handshake.Replies, 2)
			assert.Equal(t, "initialize", handshake.Replies[0].Method)
			assert.Equal(t, http.StatusAccepted, handshake.Replies[1].Status)
			assert.Positive(t, handshake.Duration)
			assert.Equal(t, !opts.Stateless, s.ID() != "")
			assert.Equal(t, wire.LatestVersion, s.Server().ProtocolVersion)
			assert.Equal(t, "for tests", s.Server().Instructions)
			assert.JSONEq(t, `{"name":"mcptest","version":"1"}`, string(s.Server().ServerInfo))

			r := s.CallTool(context.Background(), "echo", []byte(`{"text":"hé\u0000 <&>"}`), wire.Options{})
			require.Nil(t, r.Err)
			assert.Equal(t, !opts.JSONResponse, r.Streamed)
			assert.Equal(t, http.StatusOK, r.Status)
			assert.Positive(t, r.Received)
			var result struct{ StructuredContent mcptest.EchoArgs }
			require.NoError(t, json.Unmarshal(r.Result, &result))
			assert.Equal(t, "hé\u0000 <&>", result.StructuredContent.Text)

			r = s.CallTool(context.Background(), "fail", nil, wire.Options{})
			require.NotNil(t, r.Err)
			assert.Equal(t, wire.KindTool, r.Err.Kind)
			assert.Equal(t, "it failed on purpose", r.Err.Message)
			assert.NotEmpty(t, r.Result)

			r = s.CallTool(context.Background(), "nothing", nil, wire.Options{})
			require.NotNil(t, r.Err)
			assert.Equal(t, wire.KindRPC, r.Err.Kind)
			require.NotNil(t, r.Err.RPC)
			assert.Equal(t, -32602, r.Err.RPC.Code)

			r = s.Call(context.Background(), "tools/list", nil, wire.Options{})
			require.Nil(t, r.Err)
			assert.Contains(t, string(r.Result), `"slow"`)
			r = s.Call(context.Background(), "ping", nil, wire.Options{})
			require.Nil(t, r.Err)
			assert.Equal(t, `{}`, string(r.Result))

			assert.True(t, s.Alive())
			require.NoError(t, s.Close(context.Background(), wire.Options{}))
			assert.False(t, s.Alive())
			require.NoError(t, s.Close(context.Background(), wire.Options{}), "a second close does nothing")
			if !opts.Stateless {
				r = s.Call(context.Background(), "ping", nil, wire.Options{})
				require.NotNil(t, r.Err)
				assert.Equal(t, wire.KindInterrupted, r.Err.Kind)
				again, err := wire.Attach(cfg, s.ID(), s.ProtocolVersion())
				require.NoError(t, err)
				defer again.Abandon()
				r = again.Call(context.Background(), "ping", nil, wire.Options{})
				require.NotNil(t, r.Err)
				assert.Equal(t, wire.KindSessionLost, r.Err.Kind, "the server must have ended the session")
			}
		})
	}
}

func TestSessionMayBeSharedByGoroutines(t *testing.T) {
	t.Parallel()
	s := connect(t, serve(t, mcptest.Handler(&sdk.StreamableHTTPOptions{})))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				r := s.CallTool(context.Background(), "echo", []byte(`{"text":"x"}`), wire.Options{})
				assert.Nil(t, r.Err)
			}
		})
	}
	wg.Wait()
}

func TestRequestsOnTheWire(t *testing.T) {
	t.Parallel()
	type request struct {
		verb   string
		header http.Header
		body   map[string]any
	}
	var got []request
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := request{verb: r.Method, header: r.Header}
		_ = json.NewDecoder(r.Body).Decode(&req.body) // DELETE has none
		got = append(got, req)
		answer(w, req.body)
	}))
	cfg.Header = http.Header{"X-Client": {"c"}, "X-Both": {"c"}}
	s, _, err := wire.Connect(context.Background(), cfg, wire.Options{})
	require.NoError(t, err)
	require.Nil(t, s.CallTool(context.Background(), `a"b`, []byte(`{"n":1}`), wire.Options{Header: http.Header{"X-Both": {"call"}}}).Err)
	require.Nil(t, s.CallTool(context.Background(), "a", nil, wire.Options{}).Err)
	require.NoError(t, s.Close(context.Background(), wire.Options{}))

	require.Len(t, got, 5)
	initialize, initialized, first, second, end := got[0], got[1], got[2], got[3], got[4]
	for _, r := range got {
		assert.Equal(t, "c", r.header.Get("X-Client"))
	}
	for _, r := range got[:4] {
		assert.Equal(t, "2.0", r.body["jsonrpc"])
		assert.Equal(t, "application/json", r.header.Get("Content-Type"))
		assert.Equal(t, "application/json, text/event-stream", r.header.Get("Accept"))
	}
	assert.Equal(t, map[string]any{
		"protocolVersion": wire.LatestVersion, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "xk6-mcp", "version": "test"},
	}, initialize.body["params"])
	assert.Empty(t, initialize.header.Get("Mcp-Session-Id"))
	assert.NotContains(t, initialized.body, "id")
	for _, r := range got[1:] {
		assert.Equal(t, "session-1", r.header.Get("Mcp-Session-Id"))
		assert.Equal(t, "2025-06-18", r.header.Get("Mcp-Protocol-Version"), "the negotiated revision, not the offered one")
	}
	assert.Equal(t, map[string]any{"name": `a"b`, "arguments": map[string]any{"n": 1.0}}, first.body["params"])
	assert.Equal(t, map[string]any{"name": "a"}, second.body["params"])
	assert.Equal(t, "call", first.header.Get("X-Both"))
	assert.Equal(t, "c", second.header.Get("X-Both"))
	assert.Equal(t, []any{1.0, 2.0, 3.0}, []any{initialize.body["id"], first.body["id"], second.body["id"]})
	assert.Equal(t, http.MethodDelete, end.verb)
}

// answer is a server that answers every request well, with a session and an older revision.
func answer(w http.ResponseWriter, request map[string]any) {
	id, ok := request["id"]
	if !ok {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := map[string]any{"content": []any{}}
	if request["method"] == "initialize" {
		w.Header().Set("Mcp-Session-Id", "session-1")
		result = map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

func TestHandshakeFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		initialize  string // result
		initialized int    // status
		kind        wire.Kind
		deleted     bool
	}{
		"unknown revision":        {`{"protocolVersion":"1999-01-01","capabilities":{}}`, 202, wire.KindVersion, true},
		"no revision":             {`{"capabilities":{}}`, 202, wire.KindVersion, true},
		"revision is a number":    {`{"protocolVersion":1}`, 202, wire.KindMalformed, true},
		"initialized is refused":  {`{"protocolVersion":"2025-11-25","capabilities":{}}`, 500, wire.KindHTTP, true},
		"session already expired": {`{"protocolVersion":"2025-11-25","capabilities":{}}`, 404, wire.KindSessionLost, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deleted := false
			cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var m map[string]any
				_ = json.NewDecoder(r.Body).Decode(&m) // DELETE has none
				switch {
				case r.Method == http.MethodDelete:
					deleted = r.Header.Get("Mcp-Session-Id") == "s"
				case m["method"] == "initialize":
					w.Header().Set("Content-Type", "application/json")
					w.Header().Set("Mcp-Session-Id", "s")
					_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":` + test.initialize + `}`))
				default:
					w.WriteHeader(test.initialized)
				}
			}))
			s, handshake, err := wire.Connect(context.Background(), cfg, wire.Options{})
			require.Error(t, err)
			assert.Nil(t, s)
			assert.Equal(t, test.kind, kindOf(t, err))
			assert.Equal(t, test.deleted, deleted, "a session that the server has made, and still has, must be ended")
			require.NotEmpty(t, handshake.Replies)
			assert.NotNil(t, handshake.Replies[len(handshake.Replies)-1].Err)
		})
	}
}

func kindOf(t *testing.T, err error) wire.Kind {
	t.Helper()
	var e *wire.Error
	require.ErrorAs(t, err, &e)
	return e.Kind
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	cfg, err := wire.Config{URL: "http://h/mcp"}.Validate()
	require.NoError(t, err)
	assert.Equal(t, wire.Config{
		Transport: wire.StreamableHTTP, URL: "http://h/mcp", Timeout: 60 * time.Second, MaxMessageSize: 16 << 20, ProtocolVersion: "2025-11-25",
	}, cfg)
	cfg, err = wire.Config{Command: []string{"server"}}.Validate()
	require.NoError(t, err)
	assert.Equal(t, wire.Stdio, cfg.Transport)
	for want, cfg := range map[string]wire.Config{
		`transport "carrier pigeon": want`:    {Transport: "carrier pigeon"},
		"a command has no transport":          {Transport: wire.SSE, Command: []string{"server"}},
		"command: want a program":             {Command: []string{""}},
		"a command has no HTTP headers":       {Command: []string{"server"}, Auth: wire.Bearer("t")},
		"does not exist over the transport":   {URL: "http://h", Transport: wire.SSE, ProtocolVersion: wire.StatelessVersion},
		"client info 1: want a JSON object":   {URL: "http://h", ClientInfo: []byte("1")},
		"capabilities []: want a JSON object": {URL: "http://h", Capabilities: []byte("[]")},
		"delay -1s: want 0 or more":           {URL: "http://h", Replies: map[string]wire.Canned{"m": {Delay: -time.Second}}},
		"reply to m: result {: want":          {URL: "http://h", Replies: map[string]wire.Canned{"m": {Result: []byte("{")}}},
		`url "": want http://`:                {},
		`url "h/mcp": want http://`:           {URL: "h/mcp"},
		`url "ftp://h/": want http://`:        {URL: "ftp://h/"},
		"url: parse":                          {URL: "http://[/"},
		"credentials in an Authorization":     {URL: "http://u:p@h/"},
		`protocol version "1": want one of 2`: {URL: "http://h", ProtocolVersion: "1"},
		"timeout -1s: want more than 0":       {URL: "http://h", Timeout: -time.Second},
		"size -1: want more than 0":           {URL: "http://h", MaxMessageSize: -1},
	} {
		_, err := cfg.Validate()
		require.ErrorContains(t, err, want)
	}
}

func TestCloseWhereServerDoesNotEndSessions(t *testing.T) {
	t.Parallel()
	for status, fine := range map[int]bool{200: true, 204: true, 404: true, 405: true, 500: false} {
		cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				w.WriteHeader(status)
				return
			}
			var m map[string]any
			_ = json.NewDecoder(r.Body).Decode(&m)
			answer(w, m)
		}))
		var seen []*wire.Reply
		cfg.Observer.Exchange = func(r *wire.Reply) { seen = append(seen, r) }
		s, _, err := wire.Connect(context.Background(), cfg, wire.Options{})
		require.NoError(t, err)
		assert.Equal(t, fine, s.Close(context.Background(), wire.Options{}) == nil, "DELETE answered %d", status)
		require.Len(t, seen, 1)
		assert.Equal(t, "DELETE", seen[0].Method)
		assert.Equal(t, status, seen[0].Status)
		assert.Equal(t, fine, seen[0].Err == nil, "what is fine for the caller is counted as such")
	}
}
