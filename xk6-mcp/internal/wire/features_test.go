package wire_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/mcptest"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

var ctx = context.Background()

// ways are all transports and revisions against servers of the official SDK.
func ways(t *testing.T) map[string]wire.Config {
	t.Helper()
	sse := serve(t, mcptest.SSEHandler())
	sse.Transport = wire.SSE
	stdio := child("sdk")
	statelessStdio := stdio
	statelessStdio.ProtocolVersion = wire.StatelessVersion
	ways := map[string]wire.Config{"SSE": sse, "stdio": stdio, "stdio, stateless": statelessStdio}
	for _, version := range wire.Versions() {
		stateless := version == wire.StatelessVersion
		cfg := serve(t, mcptest.Handler(&sdk.StreamableHTTPOptions{Stateless: stateless}))
		cfg.ProtocolVersion = version
		ways["streamable HTTP, "+version] = cfg
	}
	cfg := serve(t, mcptest.Handler(&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	cfg.ProtocolVersion = wire.StatelessVersion
	ways["streamable HTTP, stateless, JSON"] = cfg
	return ways
}

// child runs this test binary as a server: see TestMain.
func child(mode string) wire.Config {
	return wire.Config{Command: []string{os.Args[0]}, Env: []string{"WIRE_TEST_CHILD=" + mode}, ClientVersion: "test"}
}

func TestAllWays(t *testing.T) {
	t.Parallel()
	for name, cfg := range ways(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, handshake, err := wire.Connect(ctx, cfg, wire.Options{})
			require.NoError(t, err)
			want := cfg.ProtocolVersion
			if want == "" {
				want = wire.LatestVersion
			}
			assert.Equal(t, want, s.ProtocolVersion())
			assert.Equal(t, want == wire.StatelessVersion, s.Stateless())
			assert.JSONEq(t, `{"name":"mcptest","version":"1"}`, string(s.Server().ServerInfo))
			assert.Equal(t, "for tests", s.Server().Instructions)
			if s.Stateless() {
				require.Len(t, handshake.Replies, 1)
				assert.Equal(t, "server/discover", handshake.Replies[0].Method)
			} else {
				require.Len(t, handshake.Replies, 2)
			}

			text := "hé\u2028\n<&>"
			args, err := json.Marshal(mcptest.EchoArgs{Text: text})
			require.NoError(t, err)
			for range 3 {
				r := s.CallTool(ctx, "echo", args, wire.Options{Meta: []byte(`{"a":1}`)})
				require.Nil(t, r.Err)
				var result struct{ StructuredContent mcptest.EchoArgs }
				require.NoError(t, json.Unmarshal(r.Result, &result))
				assert.Equal(t, text, result.StructuredContent.Text)
				assert.Positive(t, r.Received)
				assert.Positive(t, r.Timings.Duration)
				assert.Equal(t, r.Timings.Duration, r.Timings.Sending+r.Timings.Waiting+r.Timings.Receiving)
			}
			r := s.CallTool(ctx, "fail", nil, wire.Options{})
			require.NotNil(t, r.Err)
			assert.Equal(t, wire.KindTool, r.Err.Kind)
			r = s.CallTool(ctx, "nothing", nil, wire.Options{})
			require.NotNil(t, r.Err)
			assert.Equal(t, wire.KindRPC, r.Err.Kind)
			for method, params := range map[string]string{
				"resources/read":      `{"uri":"test://greeting"}`,
				"resources/list":      ``,
				"prompts/get":         `{"name":"greet","arguments":{"name":"x"}}`,
				"completion/complete": `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"b"}}`,
			} {
				assert.Nil(t, s.Call(ctx, method, []byte(params), wire.Options{}).Err, method)
			}

			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 5 {
						assert.Nil(t, s.CallTool(ctx, "echo", args, wire.Options{}).Err)
					}
				})
			}
			wg.Wait()
			assert.True(t, s.Alive())
			require.NoError(t, s.Close(ctx, wire.Options{}))
			assert.False(t, s.Alive())
		})
	}
}

func TestAuto(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts    sdk.StreamableHTTPOptions
		version string
	}{
		"stateless server": {sdk.StreamableHTTPOptions{Stateless: true}, wire.StatelessVersion},
		"stateful server":  {sdk.StreamableHTTPOptions{}, wire.LatestVersion},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := serve(t, mcptest.Handler(&test.opts))
			cfg.ProtocolVersion = wire.Auto
			s := connect(t, cfg)
			assert.Equal(t, test.version, s.ProtocolVersion())
			require.Nil(t, s.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{}).Err)
		})
	}
	t.Run("answers", func(t *testing.T) {
		t.Parallel()
		for answer, want := range map[string]string{ // "status body" to the revision offered after it, or the kind of failure
			`404 Not found`:   wire.LatestVersion,
			`400 Bad request`: wire.LatestVersion,
			`200 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`:                                       wire.LatestVersion,
			`400 {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2025-03-26"]}}}`:   "2025-03-26",
			`200 {"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-06-18","2024-11-05"],"capabilities":{}}}`: "2025-06-18",
			`400 {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["1999-01-01"]}}}`:   "version",
			`500 oops`:          "http",
			`401 who`:           "unauthorized",
			`503 `:              "unavailable",
			`200 {"jsonrpc":"2`: "truncated",
		} {
			var offered atomic.Value
			cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var m struct {
					ID     int
					Method string
					Params struct{ ProtocolVersion string }
				}
				_ = json.NewDecoder(r.Body).Decode(&m)
				w.Header().Set("Content-Type", "application/json")
				switch m.Method {
				case "server/discover":
					assert.Equal(t, wire.StatelessVersion, r.Header.Get("Mcp-Protocol-Version"))
					status, body, _ := strings.Cut(answer, " ")
					w.WriteHeader(map[string]int{"200": 200, "400": 400, "401": 401, "404": 404, "500": 500, "503": 503}[status])
					_, _ = w.Write([]byte(body))
				case "initialize":
					assert.Empty(t, r.Header.Get("Mcp-Protocol-Version"))
					assert.Empty(t, r.Header.Get("Mcp-Method"))
					offered.Store(m.Params.ProtocolVersion)
					_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"protocolVersion": m.Params.ProtocolVersion}})
				default:
					w.WriteHeader(http.StatusAccepted)
				}
			}))
			cfg.ProtocolVersion = wire.Auto
			s, handshake, err := wire.Connect(ctx, cfg, wire.Options{})
			if err != nil {
				assert.Equal(t, wire.Kind(want), kindOf(t, err), answer)
				assert.Len(t, handshake.Replies, 1)
				continue
			}
			assert.Equal(t, want, offered.Load(), answer)
			assert.Equal(t, want, s.ProtocolVersion(), answer)
			assert.Len(t, handshake.Replies, 3)
			require.NoError(t, s.Close(ctx, wire.Options{}))
		}
	})
}

func TestStatelessRequestsOnTheWire(t *testing.T) {
	t.Parallel()
	type request struct {
		header http.Header
		body   map[string]any
	}
	var got []request
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := request{header: r.Header}
		_ = json.NewDecoder(r.Body).Decode(&req.body)
		got = append(got, req)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": req.body["id"], "result": map[string]any{"supportedVersions": wire.Versions()}})
	}))
	cfg.ProtocolVersion = wire.StatelessVersion
	cfg.Replies = map[string]wire.Canned{"roots/list": {}}
	s := connect(t, cfg)
	require.Nil(t, s.CallTool(ctx, "echo", []byte(`{"_meta":1}`), wire.Options{}).Err)
	require.Nil(t, s.CallTool(ctx, "hé", nil, wire.Options{Meta: []byte(`{"a":1,"io.modelcontextprotocol/clientInfo":2}`)}).Err)
	require.Nil(t, s.Call(ctx, "resources/read", []byte(` { "uri" : "a://b" } `), wire.Options{}).Err)
	require.Nil(t, s.Call(ctx, "prompts/get", []byte(`{"name":"=?base64?YQ==?=","_meta":{"b":1}}`), wire.Options{}).Err)
	require.Nil(t, s.Call(ctx, "tools/list", nil, wire.Options{Header: http.Header{"Mcp-Method": {"other"}, "mcp-protocol-version": nil}}).Err)

	require.Len(t, got, 6)
	meta := func(i int) map[string]any { return got[i].body["params"].(map[string]any)["_meta"].(map[string]any) }
	for i, r := range got[:5] {
		assert.Equal(t, wire.StatelessVersion, r.header.Get("Mcp-Protocol-Version"))
		assert.Equal(t, r.body["method"], r.header.Get("Mcp-Method"))
		assert.Equal(t, wire.StatelessVersion, meta(i)["io.modelcontextprotocol/protocolVersion"])
		assert.Equal(t, map[string]any{"roots": map[string]any{}}, meta(i)["io.modelcontextprotocol/clientCapabilities"])
		assert.Empty(t, r.header.Get("Mcp-Session-Id"))
	}
	assert.Equal(t, "echo", got[1].header.Get("Mcp-Name"))
	assert.Equal(t, "=?base64?aMOp?=", got[2].header.Get("Mcp-Name"))
	assert.Equal(t, "a://b", got[3].header.Get("Mcp-Name"))
	assert.Equal(t, "=?base64?PT9iYXNlNjQ/WVE9PT89?=", got[4].header.Get("Mcp-Name"))
	assert.Equal(t, map[string]any{"name": "xk6-mcp", "version": "test"}, meta(1)["io.modelcontextprotocol/clientInfo"])
	assert.InDelta(t, 2, meta(2)["io.modelcontextprotocol/clientInfo"], 0)
	assert.InDelta(t, 1, meta(2)["a"], 0)
	assert.InDelta(t, 1, meta(4)["b"], 0)
	assert.Equal(t, "other", got[5].header.Get("Mcp-Method"))
	assert.NotContains(t, got[5].header, "Mcp-Protocol-Version")

	r := s.Call(ctx, "tools/list", []byte(`[1]`), wire.Options{})
	require.NotNil(t, r.Err)
	assert.Equal(t, wire.KindMalformed, r.Err.Kind)
	r = s.Call(ctx, "tools/list", nil, wire.Options{Meta: []byte(`[]`)})
	require.NotNil(t, r.Err)
	assert.Equal(t, wire.KindMalformed, r.Err.Kind)
	assert.Len(t, got, 6, "what is wrong is not sent")
}

func TestHeaderMismatchAndVersion(t *testing.T) {
	t.Parallel()
	cfg := serve(t, mcptest.Handler(&sdk.StreamableHTTPOptions{Stateless: true}))
	cfg.ProtocolVersion = wire.StatelessVersion
	s := connect(t, cfg)
	r := s.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{Header: http.Header{"Mcp-Name": {"other"}}})
	require.NotNil(t, r.Err)
	assert.Equal(t, wire.KindHeaderMismatch, r.Err.Kind)
	assert.Equal(t, 400, r.Status)

	cfg = serve(t, mcptest.Handler(&sdk.StreamableHTTPOptions{}))
	cfg.ProtocolVersion = wire.StatelessVersion
	_, _, err := wire.Connect(ctx, cfg, wire.Options{})
	require.Error(t, err)
	assert.Equal(t, wire.KindVersion, kindOf(t, err))
}

func TestProgress(t *testing.T) {
	t.Parallel()
	for name, cfg := range ways(t) {
		if strings.Contains(name, "JSON") {
			continue // has no way to send it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			cfg.Observer.Notification = func(n wire.Notification) {
				if n.Method == "notifications/progress" {
					seen.Add(1)
				}
			}
			s := connect(t, cfg)
			var got []wire.Progress
			r := s.CallTool(ctx, "steps", []byte(`{"n":3}`), wire.Options{Progress: func(p wire.Progress) { got = append(got, p) }})
			require.Nil(t, r.Err)
			require.Len(t, got, 3)
			assert.InDelta(t, 3, got[2].Progress, 0)
			assert.InDelta(t, 3, *got[2].Total, 0)
			assert.Equal(t, "working", got[2].Message)
			assert.False(t, got[2].At.IsZero())
			assert.EqualValues(t, 3, seen.Load())
			if s.Transport() == wire.StreamableHTTP {
				assert.Equal(t, 3, r.Events)
			}
		})
	}
}

func TestServerRequests(t *testing.T) {
	t.Parallel()
	const delay = 30 * time.Millisecond
	for name, cfg := range ways(t) {
		if strings.Contains(name, wire.StatelessVersion) || strings.Contains(name, "stateless") {
			continue // the revision has none
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.Replies = map[string]wire.Canned{"roots/list": {Result: []byte(`{"roots":[{"uri":"file:///a"}]}`), Delay: delay}}
			var err error
			var ok bool
			cfg.Replies["sampling/createMessage"], ok = wire.DefaultReply("sampling/createMessage")
			require.True(t, ok)
			cfg.Replies["elicitation/create"] = wire.Canned{Error: &wire.RPCError{Code: -1, Message: "not now"}}
			answered := make(chan wire.ServerRequest, 10)
			exchanges := make(chan *wire.Reply, 10)
			cfg.Observer.ServerRequest = func(r wire.ServerRequest) { answered <- r }
			cfg.Observer.Exchange = func(r *wire.Reply) { exchanges <- r }
			s := connect(t, cfg)

			r := s.CallTool(ctx, "ask", []byte(`{"what":"roots"}`), wire.Options{})
			require.Nil(t, r.Err)
			assert.Contains(t, string(r.Result), "file:///a")
			request := <-answered
			assert.Equal(t, "roots/list", request.Method)
			assert.GreaterOrEqual(t, request.Duration, delay)
			assert.Nil(t, request.Err)
			assert.Equal(t, "roots/list", (<-exchanges).Method)

			r = s.CallTool(ctx, "ask", []byte(`{"what":"sampling"}`), wire.Options{})
			require.Nil(t, r.Err)
			assert.Contains(t, string(r.Result), "A canned answer.")
			r = s.CallTool(ctx, "ask", []byte(`{"what":"elicitation"}`), wire.Options{})
			require.NotNil(t, r.Err)
			assert.Contains(t, r.Err.Message, "not now")
			require.NoError(t, err)
		})
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	for name, cfg := range ways(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, cfg)
			arrived := make(chan struct{}, 100)
			callCtx, leave := context.WithCancel(ctx)
			l, r := s.Listen(callCtx, wire.ListenOptions{Queue: 2, Arrived: func() { arrived <- struct{}{} }}, wire.Options{})
			require.Nil(t, r.Err)
			leave()
			assert.True(t, l.Open())
			for range 100 { // the SDK joins announcements that come together
				require.Nil(t, s.CallTool(ctx, "announce", nil, wire.Options{}).Err)
				time.Sleep(20 * time.Millisecond)
				if l.Received() >= 3 {
					break
				}
			}
			require.GreaterOrEqual(t, l.Received(), int64(3))
			<-arrived
			first, ok := l.Next()
			require.True(t, ok)
			assert.True(t, strings.HasPrefix(first.Method, "notifications/"), first.Method)
			assert.Equal(t, wire.ListenStream, first.Stream)
			_, ok = l.Next()
			require.True(t, ok)
			assert.Positive(t, l.Dropped())
			assert.GreaterOrEqual(t, l.Received(), l.Dropped()+2)
			l.Close()
			assert.False(t, l.Open())
			assert.Nil(t, l.Err())
			assert.Positive(t, l.Duration())
			require.Nil(t, s.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{}).Err)

			var again *wire.Stream
			require.Eventually(t, func() bool { // the server may not have seen the end of the first stream
				again, r = s.Listen(ctx, wire.ListenOptions{}, wire.Options{})
				return r.Err == nil
			}, 5*time.Second, 10*time.Millisecond)
			require.NoError(t, s.Close(ctx, wire.Options{}))
			<-again.Done()
			assert.Nil(t, again.Err())
		})
	}
}

// A tool that wants something of the client gets it in every revision.
func TestInputRequired(t *testing.T) {
	t.Parallel()
	const delay = 30 * time.Millisecond
	for name, cfg := range ways(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.Replies = map[string]wire.Canned{"roots/list": {Result: []byte(`{"roots":[{"uri":"file:///a"}]}`), Delay: delay}}
			requests := make(chan wire.ServerRequest, 10)
			cfg.Observer.ServerRequest = func(r wire.ServerRequest) { requests <- r }
			var exchanges atomic.Int64
			cfg.Observer.Exchange = func(*wire.Reply) { exchanges.Add(1) }
			s := connect(t, cfg)
			r := s.CallTool(ctx, "confirm", nil, wire.Options{})
			require.Nil(t, r.Err)
			assert.Contains(t, string(r.Result), "asked file:///a")
			request := <-requests
			assert.Equal(t, "roots/list", request.Method)
			assert.GreaterOrEqual(t, request.Duration, delay)
			require.Eventually(t, func() bool { return exchanges.Load() == 1 }, 5*time.Second, time.Millisecond)
		})
	}
	cfg := serve(t, mcptest.Handler(&sdk.StreamableHTTPOptions{Stateless: true}))
	cfg.ProtocolVersion = wire.StatelessVersion
	s := connect(t, cfg)
	r := s.CallTool(ctx, "confirm", nil, wire.Options{})
	require.Nil(t, r.Err)
	assert.Contains(t, string(r.Result), "input_required", "without an answer, the result is handed on")
}

func TestCancelAfter(t *testing.T) {
	t.Parallel()
	const patience = 50 * time.Millisecond
	for name, cfg := range ways(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exchanges := make(chan *wire.Reply, 10)
			cfg.Observer.Exchange = func(r *wire.Reply) { exchanges <- r }
			s := connect(t, cfg)
			start := time.Now()
			r := s.CallTool(ctx, "slow", []byte(`{"ms":1500}`), wire.Options{CancelAfter: patience})
			require.NotNil(t, r.Err)
			assert.Equal(t, wire.KindCancelled, r.Err.Kind)
			assert.GreaterOrEqual(t, time.Since(start), patience)
			assert.Less(t, time.Since(start), time.Second)
			if s.Stateless() && s.Transport() == wire.StreamableHTTP {
				time.Sleep(patience)
				assert.Empty(t, exchanges, "closing the response is the cancellation")
			} else {
				cancelled := <-exchanges
				assert.Equal(t, "notifications/cancelled", cancelled.Method)
				assert.Nil(t, cancelled.Err)
			}
			require.Nil(t, s.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{}).Err)
		})
	}
}

// The official client and this one get the same from the same server.
func TestSameAsTheSDKClient(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-03-26", wire.LatestVersion, wire.StatelessVersion} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cfg := serve(t, mcptest.Handler(&sdk.StreamableHTTPOptions{Stateless: version == wire.StatelessVersion}))
			cfg.ProtocolVersion = version
			s := connect(t, cfg)
			client, err := sdk.NewClient(&sdk.Implementation{Name: "oracle", Version: "1"}, nil).Connect(ctx,
				&sdk.StreamableClientTransport{Endpoint: cfg.URL, HTTPClient: &http.Client{Transport: cfg.HTTP}, DisableStandaloneSSE: true},
				&sdk.ClientSessionOptions{ProtocolVersion: version})
			require.NoError(t, err)
			defer func() { assert.NoError(t, client.Close()) }()

			tools, err := client.ListTools(ctx, nil)
			same(t, s, "tools/list", "", tools, err)
			resources, err := client.ListResources(ctx, nil)
			same(t, s, "resources/list", "", resources, err)
			templates, err := client.ListResourceTemplates(ctx, nil)
			same(t, s, "resources/templates/list", "", templates, err)
			prompts, err := client.ListPrompts(ctx, nil)
			same(t, s, "prompts/list", "", prompts, err)
			resource, err := client.ReadResource(ctx, &sdk.ReadResourceParams{URI: "test://greeting"})
			same(t, s, "resources/read", `{"uri":"test://greeting"}`, resource, err)
			prompt, err := client.GetPrompt(ctx, &sdk.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "x"}})
			same(t, s, "prompts/get", `{"name":"greet","arguments":{"name":"x"}}`, prompt, err)
			echo, err := client.CallTool(ctx, &sdk.CallToolParams{Name: "echo", Arguments: mcptest.EchoArgs{Text: "hé"}})
			same(t, s, "tools/call", `{"name":"echo","arguments":{"text":"hé"}}`, echo, err)
			bad, err := client.CallTool(ctx, &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": 1}})
			same(t, s, "tools/call", `{"name":"echo","arguments":{"text":1}}`, bad, err)
		})
	}
}

// same compares a result of this client with one of the SDK's client.
func same[T any](t *testing.T, s *wire.Session, method, params string, want *T, err error) {
	t.Helper()
	require.NoError(t, err, method)
	r := s.Call(ctx, method, []byte(params), wire.Options{})
	require.Nil(t, r.Err, method)
	got := new(T)
	require.NoError(t, json.Unmarshal(r.Result, got), method)
	assert.Equal(t, want, got, method)
}
