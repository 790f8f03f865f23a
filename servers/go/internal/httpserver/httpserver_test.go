package httpserver

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/servers/go/internal/config"
	"github.com/mcp-parity/mcp-parity/servers/go/internal/mcpserver"
	"github.com/mcp-parity/mcp-parity/servers/go/internal/tools"
)

const (
	ping       = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
)

func testHandler(t testing.TB, cfg config.Config) (http.Handler, *drain) {
	t.Helper()
	mcpServer, err := mcpserver.New(tools.NewUpstream("http://127.0.0.1:1"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	drain := newDrain()
	return newHandler(cfg, mcpServer, drain), drain
}

func stateless() config.Config {
	return config.Config{Host: "127.0.0.1", Sessions: config.Stateless, Transport: config.HTTP}
}

func stateful() config.Config {
	return config.Config{Host: "127.0.0.1", Sessions: config.Stateful, Transport: config.HTTP}
}

// post returns a usual MCP request; headers come in pairs, and an empty value
// removes one.
func post(body string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			r.Host = headers[i+1]
		case headers[i+1] == "":
			r.Header.Del(headers[i])
		default:
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

func send(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// code is the code of a JSON-RPC error, 0 for none.
func code(t *testing.T, w *httptest.ResponseRecorder) int {
	t.Helper()
	if w.Header().Get("Content-Type") != "application/json" {
		return 0
	}
	var body struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	return body.Error.Code
}

func TestChecks(t *testing.T) {
	h, _ := testHandler(t, stateless())
	tests := map[string]struct {
		request *http.Request
		status  int
		code    int
	}{
		"ping":                    {post(ping), 200, 0},
		"foreign Host":            {post(ping, "Host", "evil.example"), 403, 0},
		"Host with our prefix":    {post(ping, "Host", "localhost.evil.example:80"), 403, 0},
		"no Host":                 {post(ping, "Host", ""), 403, 0},
		"IPv6 Host":               {post(ping, "Host", "[::1]:8081"), 200, 0},
		"foreign Origin":          {post(ping, "Origin", "https://evil.example"), 403, 0},
		"own Origin":              {post(ping, "Origin", "http://127.0.0.1:3000"), 200, 0},
		"null Origin":             {post(ping, "Origin", "null"), 403, 0},
		"no Accept":               {post(ping, "Accept", ""), 200, 0},
		"Accept ranges":           {post(ping, "Accept", "Application/*;q=0.1 , text/*"), 200, 0},
		"Accept JSON only":        {post(ping, "Accept", "application/json"), 406, 0},
		"other Content-Type":      {post(ping, "Content-Type", "text/plain"), 415, 0},
		"Content-Type parameters": {post(ping, "Content-Type", "application/json; charset=utf-8"), 200, 0},
		"largest body":            {post(ping + strings.Repeat(" ", maxBody-len(ping))), 200, 0},
		"body too large":          {post(ping + strings.Repeat(" ", maxBody-len(ping)+1)), 413, 0},
		"chunked body too large":  {unannounced(post(strings.Repeat(" ", maxBody+1))), 413, 0},
		"chunked body":            {unannounced(post(ping)), 200, 0},
		"older version":           {post(ping, "MCP-Protocol-Version", "2025-06-18"), 200, 0},
		"bogus version":           {post(ping, "MCP-Protocol-Version", "bogus"), 400, -32602},
		"older than all":          {post(ping, "MCP-Protocol-Version", "2024-01-01"), 400, -32600},
		"empty body":              {post(""), 400, -32700},
		"broken JSON":             {post(`{"jsonrpc":`), 400, -32700},
		"trailing text":           {post(ping + "x"), 400, -32700},
		"invalid UTF-8":           {post("{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}"), 400, -32700},
		"lone surrogate":          {post(`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`), 400, -32700},
		"batch":                   {post("[" + ping + "]"), 400, -32600},
		"null":                    {post("null"), 400, -32600},
		"other JSON-RPC":          {post(`{"jsonrpc":"1.0","id":1,"method":"ping"}`), 400, -32600},
		"method is a number":      {post(`{"jsonrpc":"2.0","id":1,"method":1}`), 400, -32600},
		"neither call nor answer": {post(`{"jsonrpc":"2.0","id":1}`), 400, -32600},
		"answer of a client":      {post(`{"jsonrpc":"2.0","id":1,"result":{}}`), 202, 0},
		"unknown method":          {post(`{"jsonrpc":"2.0","id":1,"method":"nope"}`), 200, -32601},
		"undeclared capability":   {post(`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`), 200, -32601},
		"call without params":     {post(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`), 200, -32602},
		"null params":             {post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`), 200, -32602},
		"null arguments":          {post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calculate_fibonacci","arguments":null}}`), 200, -32602},
		"unknown tool":            {post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}`), 200, -32602},
		"notification":            {post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), 202, 0},
		"unknown notification":    {post(`{"jsonrpc":"2.0","method":"nope"}`), 202, 0},
		"1e400, new revision":     {post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"process_json_data","arguments":{"data":{"v":[1e400]}}}}`, "MCP-Protocol-Version", "2026-07-28"), 400, -32600},
		"GET":                     {httptest.NewRequest(http.MethodGet, "http://localhost/mcp", nil), 405, 0},

		// The first check that fails is the one that answers.
		"Host before Origin":         {post(ping, "Host", "evil.example", "Origin", "null"), 403, 0},
		"Origin before method":       {withMethod(post(ping, "Origin", "null"), http.MethodPut), 403, 0},
		"method before Accept":       {withMethod(post(ping, "Accept", "text/html"), http.MethodPut), 405, 0},
		"Accept before Content-Type": {post(ping, "Accept", "text/html", "Content-Type", "text/plain"), 406, 0},
		"Content-Type before size":   {post(strings.Repeat(" ", maxBody+1), "Content-Type", "text/plain"), 415, 0},
		"size before version":        {post(strings.Repeat(" ", maxBody+1), "MCP-Protocol-Version", "2024-01-01"), 413, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := send(h, test.request)
			if w.Code != test.status || code(t, w) != test.code {
				t.Errorf("got HTTP %d and code %d, wanted %d and %d: %.300s", w.Code, code(t, w), test.status, test.code, w.Body)
			}
		})
	}
}

func unannounced(r *http.Request) *http.Request {
	r.ContentLength = -1
	return r
}

func withMethod(r *http.Request, method string) *http.Request {
	r.Method = method
	return r
}

func TestIDs(t *testing.T) {
	h, _ := testHandler(t, stateless())
	for id, status := range map[string]int{
		`"a-1"`: 200, `"10"`: 200, `"ß😀\"\u0000<"`: 200, `""`: 200, `0`: 200, `-7`: 200, `10.0`: 200, `1e2`: 200,
		`9007199254740991`: 200, `-9007199254740991`: 200,
		`9007199254740993`: 400, `1.5`: 400, `1e400`: 400, `null`: 400, `true`: 400, `{}`: 400, `[1]`: 400,
	} {
		for _, method := range []string{"ping", "nope"} { // answered by the SDK, and by us
			w := send(h, post(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`"}`))
			if w.Code != status {
				t.Errorf("id %s: HTTP %d, wanted %d", id, w.Code, status)
			}
			var body struct{ ID any }
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatal(err)
			}
			var want any
			if status == 200 {
				if err := json.Unmarshal([]byte(id), &want); err != nil {
					t.Fatal(err)
				}
			}
			if body.ID != want {
				t.Errorf("id %s came back as %v", id, body.ID)
			}
		}
	}
}

func TestSessions(t *testing.T) {
	h, _ := testHandler(t, stateful())
	w := send(h, post(initialize))
	id := w.Header().Get("Mcp-Session-Id")
	if w.Code != 200 || id == "" {
		t.Fatalf("initialize: HTTP %d, session id %q", w.Code, id)
	}
	end := post("", "Mcp-Session-Id", id)
	end.Method = http.MethodDelete
	for i, test := range []struct {
		request *http.Request
		status  int
	}{
		{post(ping), 400},
		{post(ping, "Mcp-Session-Id", "nope"), 404},
		{post(ping, "Mcp-Session-Id", id), 200},
		{post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), 400},
		{post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id), 202},
		{post(`{"jsonrpc":"2.0","id":1,"method":"nope"}`, "Mcp-Session-Id", id), 200},
		{post(`{"jsonrpc":"2.0","method":"nope"}`, "MCP-Protocol-Version", "2026-07-28", "Mcp-Session-Id", id), 400},
		{end, 204},
		{post(ping, "Mcp-Session-Id", id), 404},
	} {
		if w := send(h, test.request); w.Code != test.status {
			t.Errorf("request %d: HTTP %d, wanted %d: %s", i, w.Code, test.status, w.Body)
		}
	}
}

func TestNeighbours(t *testing.T) {
	for _, transport := range []config.Transport{config.HTTP, config.SSE} {
		cfg := stateless()
		cfg.Transport = transport
		h, _ := testHandler(t, cfg)
		for path, want := range map[string]string{"/healthz": "ok\n", "/hello": "Hello!"} {
			if w := send(h, httptest.NewRequest(http.MethodGet, path, nil)); w.Code != 200 || w.Body.String() != want {
				t.Errorf("%s: HTTP %d %q", path, w.Code, w.Body)
			}
		}
		if w := send(h, httptest.NewRequest(http.MethodGet, "/metrics", nil)); !strings.Contains(w.Body.String(), "go_gc_gogc_percent") {
			t.Errorf("/metrics has no Go metrics: %.200s", w.Body)
		}
		for request, want := range map[string]string{
			`{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":[1,null]}}`: `{"jsonrpc":"2.0","id":"a","result":{"x":[1,null]}}`,
			`{"jsonrpc":"2.0","id":1,"method":"m"}`:                           `{"jsonrpc":"2.0","id":1,"result":null}`,
		} {
			w := send(h, httptest.NewRequest(http.MethodPost, "/floor", strings.NewReader(request)))
			if w.Code != 200 || w.Body.String() != want {
				t.Errorf("/floor: HTTP %d %s, wanted %s", w.Code, w.Body, want)
			}
		}
		if w := send(h, httptest.NewRequest(http.MethodPost, "/floor", strings.NewReader("x"))); w.Code != 400 {
			t.Errorf("/floor with broken JSON: HTTP %d", w.Code)
		}
	}
}

// TestStop holds a call and a stream open while the server stops: the call gets
// its answer, the stream ends, and neither takes longer than it must.
func TestStop(t *testing.T) {
	mcpServer, err := mcpserver.New(tools.NewUpstream("http://127.0.0.1:1"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := New(stateful(), mcpServer, slog.New(slog.DiscardHandler))
	listener := httptest.NewUnstartedServer(nil).Listener // a free port
	served := make(chan error, 1)
	go func() { served <- server.http.Serve(listener) }()
	url := "http://" + listener.Addr().String() + "/mcp"

	do := func(method, body string, headers ...string) (*http.Response, error) {
		r := post(body, headers...).Clone(t.Context())
		r.Method, r.RequestURI = method, ""
		r.URL.Host, r.Host = listener.Addr().String(), ""
		return http.DefaultClient.Do(r)
	}
	resp, err := do(http.MethodPost, initialize)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	stream, err := do(http.MethodGet, "", "Mcp-Session-Id", id)
	if err != nil || stream.StatusCode != 200 {
		t.Fatalf("GET %s: %v %v", url, stream, err)
	}
	defer stream.Body.Close()
	type answer struct {
		status int
		body   string
	}
	call := make(chan answer, 1)
	go func() {
		resp, err := do(http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"simulate_db_query","arguments":{"query":"last","delay_ms":700}}}`, "Mcp-Session-Id", id)
		if err != nil {
			call <- answer{0, err.Error()}
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		call <- answer{resp.StatusCode, string(body)}
	}()
	time.Sleep(200 * time.Millisecond) // for the call to arrive

	start := time.Now()
	if err := server.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("stopping took %v: the open stream held it up", took)
	}
	if got := <-call; got.status != 200 || !strings.Contains(got.body, `"query":"last"`) {
		t.Errorf("the call in flight got %d %s", got.status, got.body)
	}
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Errorf("the stream broke instead of ending: %v", err)
	}
	if err := <-served; err != http.ErrServerClosed {
		t.Error(err)
	}
}

func TestSSE(t *testing.T) {
	cfg := stateless()
	cfg.Transport = config.SSE
	h, drain := testHandler(t, cfg)
	server := httptest.NewServer(h)
	defer server.Close()
	resp, err := http.Get(server.URL + "/sse")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	events := make([]byte, 200)
	n, err := resp.Body.Read(events)
	if err != nil || !strings.HasPrefix(string(events[:n]), "event: endpoint\ndata: /sse?sessionid=") {
		t.Fatalf("first event %q, %v", events[:n], err)
	}
	drain.start()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("the stream broke instead of ending: %v", err)
	}
	r := httptest.NewRequest(http.MethodGet, "http://evil.example/sse", nil)
	if w := send(h, r); w.Code != 403 {
		t.Errorf("foreign Host: HTTP %d", w.Code)
	}
}
