package wire_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
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

func TestAttach(t *testing.T) {
	t.Parallel()
	cfg := serve(t, mcptest.Handler(&sdk.StreamableHTTPOptions{}))
	owner := connect(t, cfg)
	s, err := wire.Attach(cfg, owner.ID(), owner.ProtocolVersion())
	require.NoError(t, err)
	assert.Equal(t, owner.ID(), s.ID())
	require.Nil(t, s.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{}).Err)
	s.Abandon()
	assert.True(t, s.Closed())
	require.Nil(t, owner.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{}).Err, "abandoned is not ended")

	_, err = wire.Attach(cfg, "x", wire.Auto)
	require.ErrorContains(t, err, "give the one")
	_, err = wire.Attach(wire.Config{Command: []string{"server"}}, "x", wire.LatestVersion)
	require.ErrorContains(t, err, "cannot be continued")
}

func TestBatch(t *testing.T) {
	t.Parallel()
	requests := []wire.Request{
		{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"text":"first"}}`)},
		{Method: "notifications/roots/list_changed", Notification: true},
		{Method: "ping"},
		{Method: "tools/call", Params: []byte(`{"name":"nothing"}`)},
	}
	for _, asJSON := range []bool{false, true} {
		cfg := serve(t, mcptest.Handler(&sdk.StreamableHTTPOptions{JSONResponse: asJSON}))
		cfg.ProtocolVersion = wire.BatchVersion
		s := connect(t, cfg)
		replies, err := s.Batch(ctx, requests, wire.Options{})
		require.NoError(t, err)
		require.Len(t, replies, 4)
		require.Nil(t, replies[0].Err)
		assert.Contains(t, string(replies[0].Result), "first")
		assert.Nil(t, replies[1].Err)
		assert.Nil(t, replies[1].Result)
		require.Nil(t, replies[2].Err)
		assert.Equal(t, "{}", string(replies[2].Result))
		require.NotNil(t, replies[3].Err)
		assert.Equal(t, wire.KindRPC, replies[3].Err.Kind)
		for _, r := range replies {
			assert.Equal(t, 200, r.Status)
			assert.Equal(t, !asJSON, r.Streamed)
			assert.Positive(t, r.Sent)
			assert.Positive(t, r.Timings.Duration)
			assert.Equal(t, r.Timings.Duration, r.Timings.Sending+r.Timings.Waiting+r.Timings.Receiving)
		}
		replies, err = s.Batch(ctx, requests[1:2], wire.Options{})
		require.NoError(t, err)
		assert.Nil(t, replies[0].Err)
		_, err = s.Batch(ctx, nil, wire.Options{})
		require.ErrorContains(t, err, "at least one")
	}
	s := connect(t, serve(t, mcptest.Handler(&sdk.StreamableHTTPOptions{})))
	_, err := s.Batch(ctx, requests, wire.Options{})
	require.ErrorContains(t, err, "has no batches: connect with 2025-03-26")
}

func TestBatchAnsweredWrongly(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string][2]wire.Kind{
		`[{"jsonrpc":"2.0","id":3,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`:     {"", ""}, // in any order
		`[{"jsonrpc":"2.0","id":2,"result":{}}]`:                                          {"", wire.KindMalformed},
		`[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":9,"result":{}}]`:     {"", wire.KindMalformed},
		`[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`:     {"", wire.KindMalformed},
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches here"}}`: {wire.KindRPC, wire.KindRPC},
		`[`:  {wire.KindTruncated, wire.KindTruncated},
		`[]`: {wire.KindMalformed, wire.KindMalformed},
	} {
		cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasPrefix(string(body), "["):
				_, _ = io.WriteString(w, answer)
			case strings.Contains(string(body), "initialize\""):
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26"}}`)
			}
		}))
		cfg.ProtocolVersion = wire.BatchVersion
		s := connect(t, cfg)
		replies, err := s.Batch(ctx, []wire.Request{{Method: "a"}, {Method: "b"}}, wire.Options{})
		require.NoError(t, err)
		for i, r := range replies {
			var kind wire.Kind
			if r.Err != nil {
				kind = r.Err.Kind
			}
			assert.Equal(t, want[i], kind, "%s: reply %d", answer, i)
		}
	}
}

func TestRaw(t *testing.T) {
	t.Parallel()
	for name, cfg := range ways(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, cfg)
			// Over HTTP a wrong answer to this is the server's; over a pipe, the SDK ends the session.
			if s.Transport() == wire.StreamableHTTP {
				r := s.Raw(ctx, []byte(`{"jsonrpc":`), wire.Options{})
				require.NotNil(t, r.Err)
				assert.Equal(t, 400, r.Status)
				assert.NotEmpty(t, r.Body)
				r = s.Raw(ctx, []byte(`{"jsonrpc":"2.0","id":"a","method":"tools/list"}`), wire.Options{Header: http.Header{"Content-Type": nil, "Accept": {"text/html"}}})
				require.NotNil(t, r.Err)
				assert.GreaterOrEqual(t, r.Status, 400)
				r = s.Raw(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), wire.Options{})
				assert.Less(t, r.Status, 500)
			}
			if !s.Stateless() {
				r := s.Raw(ctx, []byte(`{"jsonrpc":"2.0","id":"my-id","method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`), wire.Options{})
				require.Nil(t, r.Err)
				assert.Contains(t, string(r.Result), `"x"`)
			}
			require.Nil(t, s.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{}).Err)
		})
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	server := mcptest.New(&sdk.ServerOptions{PageSize: 3})
	cfg := serve(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	s := connect(t, cfg)
	names := map[string]bool{}
	pages := s.Pages(ctx, "tools/list", wire.PageOptions{All: true}, wire.Options{})
	require.Len(t, pages, 3)
	for _, r := range pages {
		require.Nil(t, r.Err)
		var page struct{ Tools []struct{ Name string } }
		require.NoError(t, json.Unmarshal(r.Result, &page))
		for _, tool := range page.Tools {
			assert.False(t, names[tool.Name])
			names[tool.Name] = true
		}
	}
	assert.Len(t, names, 8)

	pages = s.Pages(ctx, "tools/list", wire.PageOptions{}, wire.Options{})
	require.Len(t, pages, 1)
	cursor, more := s.NextCursor(pages[0].Result)
	require.True(t, more)
	pages = s.Pages(ctx, "tools/list", wire.PageOptions{Cursor: cursor, All: true, MaxPages: 1}, wire.Options{})
	require.Len(t, pages, 1)
	require.Nil(t, pages[0].Err)
	pages = s.Pages(ctx, "tools/list", wire.PageOptions{Cursor: "never given", All: true}, wire.Options{})
	require.Len(t, pages, 1)
	require.NotNil(t, pages[0].Err)
	assert.Equal(t, wire.KindRPC, pages[0].Err.Kind)
}

func TestPagesThatNeverEnd(t *testing.T) {
	t.Parallel()
	for cursors, want := range map[string]int{"a b a": 3, "a a": 2, "a b c": 3} {
		given := strings.Fields(cursors)
		n := 0
		s := connect(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m map[string]any
			_ = json.NewDecoder(r.Body).Decode(&m)
			if m["method"] != "tools/list" {
				answer(w, m)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%v,"result":{"tools":[],"nextCursor":%q}}`, m["id"], given[min(n, len(given)-1)])
			n++
		})))
		pages := s.Pages(ctx, "tools/list", wire.PageOptions{All: true, MaxPages: 50}, wire.Options{})
		if cursors == "a b c" {
			want++ // the last one is given twice
		}
		require.Len(t, pages, want, cursors)
		last := pages[len(pages)-1]
		require.NotNil(t, last.Err)
		assert.Equal(t, wire.KindMalformed, last.Err.Kind)
		assert.Contains(t, last.Err.Message, "never ends")
	}
}

// tokenServer gives out tokens that last so many seconds.
func tokenServer(t *testing.T, lifetime int, status int) (string, *atomic.Int64) {
	t.Helper()
	var fetches atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := fetches.Add(1)
		id, secret, _ := r.BasicAuth()
		if r.FormValue("client_id") != "" {
			id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
		}
		assert.Equal(t, [2]string{"me", "s3cret"}, [2]string{id, secret})
		assert.Equal(t, "client_credentials", r.FormValue("grant_type"))
		assert.Equal(t, "a b", r.FormValue("scope"))
		assert.Equal(t, "everybody", r.FormValue("audience"))
		assert.Empty(t, r.PostForm["resource"])
		time.Sleep(20 * time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer","expires_in":%d}`, n, lifetime)
	}))
	t.Cleanup(server.Close)
	return server.URL, &fetches
}

func authorized(t *testing.T, auth wire.Auth, token func() string) wire.Config {
	t.Helper()
	handler := mcptest.Handler(&sdk.StreamableHTTPOptions{Stateless: true})
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	cfg.Auth = auth
	return cfg
}

func TestBearer(t *testing.T) {
	t.Parallel()
	cfg := authorized(t, wire.Bearer("abc"), func() string { return "abc" })
	require.Nil(t, connect(t, cfg).CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{}).Err)
	cfg.Auth = wire.Bearer("wrong")
	_, _, err := wire.Connect(ctx, cfg, wire.Options{})
	assert.Equal(t, wire.KindUnauthorized, kindOf(t, err))
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"", "basic", "post"} {
		url, fetches := tokenServer(t, 3600, 200)
		var observed atomic.Int64
		tokens := wire.NewTokens(func(took time.Duration, err error) {
			assert.NoError(t, err)
			assert.Positive(t, took)
			observed.Add(1)
		})
		c := wire.ClientCredentials{TokenURL: url, ClientID: "me", ClientSecret: "s3cret", Scope: "a b", Audience: "everybody", Style: style}
		require.NoError(t, c.Validate())
		cfg := authorized(t, nil, func() string { return "token-1" })
		var wg sync.WaitGroup
		for range 8 { // as many virtual users, each with its own configuration
			wg.Go(func() {
				mine := cfg
				mine.Auth = tokens.Auth(c)
				s, _, err := wire.Connect(ctx, mine, wire.Options{})
				if !assert.NoError(t, err) {
					return
				}
				for range 5 {
					assert.Nil(t, s.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{}).Err)
				}
				assert.NoError(t, s.Close(ctx, wire.Options{}))
			})
		}
		wg.Wait()
		assert.EqualValues(t, 1, fetches.Load(), "one fetch for all")
		assert.EqualValues(t, 1, observed.Load())
	}
}

func TestTokenIsRenewed(t *testing.T) {
	t.Parallel()
	url, fetches := tokenServer(t, 100, 200)
	tokens := wire.NewTokens(nil)
	c := wire.ClientCredentials{TokenURL: url, ClientID: "me", ClientSecret: "s3cret", Scope: "a b", Audience: "everybody", RefreshBefore: 99*time.Second + 800*time.Millisecond}
	cfg := authorized(t, tokens.Auth(c), func() string { return fmt.Sprintf("token-%d", fetches.Load()) })
	s := connect(t, cfg)
	before := fetches.Load()
	time.Sleep(300 * time.Millisecond) // the token has 200 ms
	require.Nil(t, s.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{}).Err)
	assert.Greater(t, fetches.Load(), before)
}

func TestTokenIsRefused(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]wire.Kind{400: wire.KindUnauthorized, 401: wire.KindUnauthorized, 429: wire.KindRateLimited, 503: wire.KindUnavailable, 500: wire.KindHTTP} {
		url, fetches := tokenServer(t, 3600, status)
		c := wire.ClientCredentials{TokenURL: url, ClientID: "me", ClientSecret: "s3cret", Scope: "a b", Audience: "everybody"}
		var failures atomic.Int64
		tokens := wire.NewTokens(func(_ time.Duration, err error) {
			assert.Error(t, err)
			failures.Add(1)
		})
		cfg := authorized(t, tokens.Auth(c), func() string { return "" })
		_, _, err := wire.Connect(ctx, cfg, wire.Options{})
		assert.Equal(t, kind, kindOf(t, err))
		assert.ErrorContains(t, err, "no token")
		assert.NotContains(t, err.Error(), "s3cret")
		assert.EqualValues(t, 1, fetches.Load())
		assert.EqualValues(t, 1, failures.Load())
	}
	for want, c := range map[string]wire.ClientCredentials{
		"token url": {}, "client id": {TokenURL: "http://h"}, "style": {TokenURL: "http://h", ClientID: "c", Style: "x"},
		"refresh before": {TokenURL: "http://h", ClientID: "c", RefreshBefore: -1},
	} {
		require.ErrorContains(t, c.Validate(), want)
	}
}

// The codes are those of k6 for the same failures: see the table in k6's documentation of its
// error_code tag.
func TestK6Codes(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about what is meant
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	trusting := secure.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	trusting.ServerName = "other.example"
	for name, test := range map[string]struct {
		url  string
		http *http.Transport
		kind wire.Kind
		code int
	}{
		"nobody listens": {"http://127.0.0.1:1/", &http.Transport{}, wire.KindConnect, 1212},
		"no such host":   {"http://no-such-host.invalid/", &http.Transport{}, wire.KindDNS, 1101},
		"unknown issuer": {secure.URL, &http.Transport{}, wire.KindTLS, 1310},
		"other host":     {secure.URL, &http.Transport{TLSClientConfig: trusting}, wire.KindTLS, 1311},
		"no TLS":         {strings.Replace(plain.URL, "http:", "https:", 1), &http.Transport{}, wire.KindTLS, 1301},
		"not found":      {plain.URL, &http.Transport{}, wire.KindHTTP, 1404},
	} {
		t.Cleanup(test.http.CloseIdleConnections)
		_, _, err := wire.Connect(ctx, wire.Config{URL: test.url, HTTP: test.http}, wire.Options{})
		var e *wire.Error
		require.ErrorAs(t, err, &e, name)
		assert.Equal(t, test.kind, e.Kind, "%s: %s", name, e.Message)
		assert.Equal(t, test.code, e.K6Code(), "%s: %s", name, e.Message)
	}
	cfg, _ := faulty(t, "/mcp")
	s := connect(t, cfg)
	for tool, code := range map[string]int{
		"silence": 1050, "reset before headers": 1220, "HTML": 0, "500": 1500, "JSON-RPC error": 0, "closed in the body": 1000,
	} {
		r := s.CallTool(ctx, tool, nil, wire.Options{Timeout: hangTimeout})
		require.NotNil(t, r.Err)
		assert.Equal(t, code, r.Err.K6Code(), "%s: %s", tool, r.Err.Message)
	}
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	var major atomic.Int64
	handler := mcptest.Handler(&sdk.StreamableHTTPOptions{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		major.Store(int64(r.ProtoMajor))
		handler.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	t.Cleanup(transport.CloseIdleConnections)
	s := connect(t, wire.Config{URL: server.URL, HTTP: transport})
	for range 20 {
		r := s.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{})
		require.Nil(t, r.Err)
		assert.Positive(t, r.Timings.Duration)
	}
	assert.EqualValues(t, 2, major.Load(), "of HTTP")
}
