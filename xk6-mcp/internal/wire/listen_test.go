package wire_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/mcptest"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// streaming answers POST well, and GET by the function.
func streaming(t *testing.T, get http.HandlerFunc) wire.Config {
	t.Helper()
	good := scripted(t, nil)
	target := good.HTTP
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			get(w, r)
			return
		}
		out := r.Clone(r.Context())
		out.RequestURI = ""
		out.URL.Scheme, out.URL.Host = "http", strings.TrimSuffix(strings.TrimPrefix(good.URL, "http://"), "/mcp")
		resp, err := target.RoundTrip(out)
		if !assert.NoError(t, err) {
			return
		}
		defer func() { _ = resp.Body.Close() }()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	return cfg
}

func TestListenRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		get    http.HandlerFunc
		kind   wire.Kind
		status int
	}{
		"not supported":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }, wire.KindHTTP, 405},
		"session lost":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, wire.KindSessionLost, 404},
		"no stream":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, wire.KindMalformed, 200},
		"never answered": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, wire.KindTimeout, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, streaming(t, test.get))
			l, r := s.Listen(ctx, wire.ListenOptions{}, wire.Options{Timeout: hangTimeout})
			assert.Nil(t, l)
			require.NotNil(t, r.Err)
			assert.Equal(t, test.kind, r.Err.Kind)
			assert.Equal(t, test.status, r.Status)
			assert.Equal(t, test.kind != wire.KindSessionLost, s.Alive())
		})
	}
}

func TestListenResumesAndLoses(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	s := connect(t, streaming(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Last-Event-Id")
		assert.Equal(t, "text/event-stream", r.Header.Get("Accept"))
		assert.Empty(t, r.Header.Get("Content-Type"))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/a\",\"params\":{\"n\":1}}\n\n")
		_, _ = io.WriteString(w, "id: 8\ndata: oops\n\n: "+strings.Repeat("x", 3000)+"\n\n")
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/b\"}\n\n")
		w.(http.Flusher).Flush()
		conn, _, err := w.(http.Hijacker).Hijack()
		if assert.NoError(t, err) {
			time.Sleep(hangTimeout)
			_ = conn.Close() // in the middle of the body
		}
	}))
	l, r := s.Listen(ctx, wire.ListenOptions{LastEventID: "6"}, wire.Options{})
	require.Nil(t, r.Err)
	assert.Equal(t, "6", <-asked)
	<-l.Done()
	require.NotNil(t, l.Err(), "the stream did not end in the proper way")
	assert.Contains(t, []wire.Kind{wire.KindTruncated, wire.KindReset}, l.Err().Kind)
	n, ok := l.Next()
	require.True(t, ok)
	assert.Equal(t, "notifications/a", n.Method)
	assert.JSONEq(t, `{"n":1}`, string(n.Params))
	n, ok = l.Next()
	require.True(t, ok)
	assert.Equal(t, "notifications/b", n.Method)
	_, ok = l.Next()
	assert.False(t, ok)
	assert.EqualValues(t, 3, l.Received())
	assert.EqualValues(t, 1, l.Dropped(), "the one that cannot be read")
	assert.Equal(t, "8", l.LastEventID())
	assert.True(t, s.Alive(), "a stream may break without the session")
	l.Close() // does nothing any more
}

// A server of HTTP+SSE must say where to POST, and that must be on the same server.
func TestSSEAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stream string
		kind   wire.Kind
	}{
		"elsewhere":    {"event: endpoint\ndata: http://evil.example/\n\n", wire.KindMalformed},
		"no address":   {"event: endpoint\ndata: http://[\n\n", wire.KindMalformed},
		"ends":         {"event: message\ndata: {}\n\n", wire.KindTruncated},
		"too large":    {"event: endpoint\ndata: /" + strings.Repeat("x", 2000) + "\n\n", wire.KindTooLarge},
		"never says":   {"HANG", wire.KindTimeout},
		"not a stream": {"", wire.KindMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.stream != "" {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				if test.stream == "HANG" {
					w.(http.Flusher).Flush()
					<-r.Context().Done()
					return
				}
				_, _ = io.WriteString(w, test.stream)
			}))
			cfg.Transport, cfg.MaxMessageSize = wire.SSE, 1000
			_, handshake, err := wire.Connect(ctx, cfg, wire.Options{Timeout: hangTimeout})
			assert.Equal(t, test.kind, kindOf(t, err), err)
			assert.Len(t, handshake.Replies, 1)
		})
	}
}

// viaFunc is an http.RoundTripper.
type viaFunc func(*http.Request) (*http.Response, error)

func (f viaFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What stays open goes its own way, and nothing else does.
func TestStreamsHaveTheirOwnTransport(t *testing.T) {
	t.Parallel()
	for version, opened := range map[string]string{wire.LatestVersion: "GET", wire.StatelessVersion: "POST subscriptions/listen"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cfg := serve(t, mcptest.Handler(&sdk.StreamableHTTPOptions{Stateless: version == wire.StatelessVersion}))
			cfg.ProtocolVersion = version
			var streams []string
			via := cfg.HTTP
			cfg.Streams = viaFunc(func(r *http.Request) (*http.Response, error) {
				streams = append(streams, strings.TrimSpace(r.Method+" "+r.Header.Get("Mcp-Method")))
				return via.RoundTrip(r)
			})
			s := connect(t, cfg)
			require.Nil(t, s.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{}).Err)
			l, r := s.Listen(ctx, wire.ListenOptions{}, wire.Options{})
			require.Nil(t, r.Err)
			l.Close()
			require.Nil(t, s.CallTool(ctx, "echo", []byte(`{"text":"x"}`), wire.Options{}).Err)
			assert.Equal(t, []string{opened}, streams)
		})
	}
}
