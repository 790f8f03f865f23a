package wire_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// scripted answers the handshake well, tools/call of the tool "fault" by the fault, and everything
// else well. The fault may use ID, the request's id, in what it writes.
func scripted(t *testing.T, fault func(w http.ResponseWriter, id string)) wire.Config {
	t.Helper()
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		_ = json.NewDecoder(r.Body).Decode(&m) // DELETE has no body
		if params, ok := m["params"].(map[string]any); ok && params["name"] == "fault" {
			fault(w, fmt.Sprint(m["id"]))
			return
		}
		answer(w, m)
	}))
}

// reply writes a response with a content type; ID in the body stands for the request's id.
func reply(status int, contentType, body string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", id))
	}
}

// raw writes bytes on the connection and closes it, with a reset if reset is set.
func raw(bytes string, reset bool) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, _ string) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buf.WriteString(bytes)
		_ = buf.Flush()
		if reset {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		_ = conn.Close()
	}
}

const (
	good = `{"jsonrpc":"2.0","id":ID,"result":{}}`
	js   = "application/json"
	sse  = "text/event-stream"
)

// One bad answer must be named for what it is, and must not touch the next call.
func TestFaults(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 3000)
	for name, test := range map[string]struct {
		fault func(http.ResponseWriter, string)
		kind  wire.Kind
		lost  bool
	}{
		"fine, JSON":               {reply(200, js, good), "", false},
		"fine, stream":             {reply(200, sse, "data: "+good+"\n\n"), "", false},
		"fine, odd content type":   {reply(200, "Application/JSON;charset=UTF-8", good), "", false},
		"fine, CR line ends":       {reply(200, sse, "event: message\rdata: "+good+"\r\r"), "", false},
		"fine, primed stream":      {reply(200, sse, "id: 1\ndata: \n\ndata: "+good+"\n\n"), "", false},
		"fine, notification first": {reply(200, sse, `data: {"jsonrpc":"2.0","method":"n"}`+"\n\ndata: "+good+"\n\n"), "", false},
		"fine, server request with the same id first": {
			reply(200, sse, `data: {"jsonrpc":"2.0","id":ID,"method":"ping"}`+"\n\ndata: "+good+"\n\n"), "", false,
		},
		"isError":                     {reply(200, js, `{"jsonrpc":"2.0","id":ID,"result":{"isError":true}}`), wire.KindTool, false},
		"isError with an escape":      {reply(200, js, `{"jsonrpc":"2.0","id":ID,"result":{"is\u0045rror":true}}`), wire.KindTool, false},
		"isError in text only":        {reply(200, js, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"text":"\"isError\":true"}]}}`), "", false},
		"JSON-RPC error":              {reply(200, js, `{"jsonrpc":"2.0","id":ID,"error":{"code":-1,"message":"no"}}`), wire.KindRPC, false},
		"JSON-RPC error, null result": {reply(200, js, `{"jsonrpc":"2.0","id":ID,"result":null,"error":{"code":-1,"message":"no"}}`), wire.KindRPC, false},
		"result and error":            {reply(200, js, `{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":-1,"message":"no"}}`), wire.KindMalformed, false},
		"error is a string":           {reply(200, js, `{"jsonrpc":"2.0","id":ID,"error":"no"}`), wire.KindMalformed, false},
		"neither result nor error":    {reply(200, js, `{"jsonrpc":"2.0","id":ID}`), wire.KindMalformed, false},
		"result is a number":          {reply(200, js, `{"jsonrpc":"2.0","id":ID,"result":1}`), wire.KindMalformed, false},
		"no version":                  {reply(200, js, `{"id":ID,"result":{}}`), wire.KindMalformed, false},
		"other id":                    {reply(200, js, `{"jsonrpc":"2.0","id":99,"result":{}}`), wire.KindMalformed, false},
		"id as string":                {reply(200, js, `{"jsonrpc":"2.0","id":"ID","result":{}}`), wire.KindMalformed, false},
		"other id on the stream":      {reply(200, sse, `data: {"jsonrpc":"2.0","id":99,"result":{}}`+"\n\n"), wire.KindMalformed, false},
		"truncated JSON":              {reply(200, js, good[:len(good)-3]), wire.KindTruncated, false},
		"empty":                       {reply(200, js, ""), wire.KindTruncated, false},
		"not JSON":                    {reply(200, js, "oops"), wire.KindMalformed, false},
		"more after the JSON":         {reply(200, js, good+good), wire.KindMalformed, false},
		"not UTF-8":                   {reply(200, js, `{"jsonrpc":"2.0","id":ID,"result":{"a":"`+"\xff"+`"}}`), wire.KindMalformed, false},
		"an array":                    {reply(200, js, "["+good+"]"), wire.KindMalformed, false},
		"HTML":                        {reply(200, "text/html", "<h1>Welcome</h1>"), wire.KindMalformed, false},
		"no content type":             {func(w http.ResponseWriter, _ string) { w.Header()["Content-Type"] = nil; w.WriteHeader(200) }, wire.KindMalformed, false},
		"accepted":                    {reply(202, js, ""), wire.KindTruncated, false},
		"stream ends":                 {reply(200, sse, ": nothing\n\n"), wire.KindTruncated, false},
		"stream ends in the event":    {reply(200, sse, "data: "+good+"\n"), wire.KindTruncated, false},
		"truncated JSON on stream":    {reply(200, sse, "data: "+good[:20]+"\n\n"), wire.KindTruncated, false},
		"too large":                   {reply(200, js, `{"jsonrpc":"2.0","id":ID,"result":{"a":"`+big+`"}}`), wire.KindTooLarge, false},
		"endless event":               {reply(200, sse, "data: "+big), wire.KindTooLarge, false},
		"400":                         {reply(400, "text/plain", "bad"), wire.KindHTTP, false},
		"400 with JSON-RPC error":     {reply(400, js, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}`), wire.KindRPC, false},
		"401":                         {reply(401, "text/plain", ""), wire.KindUnauthorized, false},
		"403":                         {reply(403, js, `{"jsonrpc":"2.0","error":{"code":-1,"message":"host"}}`), wire.KindUnauthorized, false},
		"404":                         {reply(404, js, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`), wire.KindSessionLost, true},
		"429":                         {reply(429, "text/plain", "later"), wire.KindRateLimited, false},
		"500":                         {reply(500, "text/html", "<p>oops"), wire.KindHTTP, false},
		"503":                         {reply(503, "text/plain", ""), wire.KindUnavailable, false},
		"redirect":                    {func(w http.ResponseWriter, _ string) { w.Header().Set("Location", "/mcp"); w.WriteHeader(307) }, wire.KindHTTP, false},
		"reset before the headers":    {raw("", true), wire.KindReset, false},
		"closed before the headers":   {raw("", false), wire.KindReset, false},
		"closed in the headers":       {raw("HTTP/1.1 200 OK\r\nContent-Ty", false), wire.KindReset, false},
		"not HTTP":                    {raw("hello\r\n\r\n", false), wire.KindReset, false},
		"closed in the body":          {raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{", false), wire.KindTruncated, false},
		"closed in the stream":        {raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n", false), wire.KindTruncated, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := scripted(t, test.fault)
			cfg.MaxMessageSize = 2000
			s := connect(t, cfg)
			r := s.CallTool(context.Background(), "fault", nil, wire.Options{})
			if test.kind == "" {
				require.Nil(t, r.Err)
				assert.NotEmpty(t, r.Result)
			} else {
				require.NotNil(t, r.Err)
				assert.Equal(t, test.kind, r.Err.Kind, r.Err.Message)
				assert.Equal(t, r.Status, r.Err.Status)
				assert.NotEmpty(t, r.Err.Message)
			}
			assert.Equal(t, r.Timings.Duration, r.Timings.Sending+r.Timings.Waiting+r.Timings.Receiving)
			assert.NotEqual(t, test.lost, s.Alive())
			for range 3 {
				r = s.CallTool(context.Background(), "echo", nil, wire.Options{})
				assert.Nil(t, r.Err, "the call after the fault")
			}
		})
	}
}

func TestReadingAfterResetInTheBody(t *testing.T) {
	t.Parallel()
	s := connect(t, scripted(t, func(w http.ResponseWriter, _ string) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{")
		_ = buf.Flush()
		time.Sleep(50 * time.Millisecond) // a reset overtakes data that has not been read yet
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}))
	r := s.CallTool(context.Background(), "fault", nil, wire.Options{})
	require.NotNil(t, r.Err)
	assert.Equal(t, wire.KindReset, r.Err.Kind, r.Err.Message)
}

func TestTimeoutAndInterruption(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]func(w http.ResponseWriter){
		"before the headers": func(http.ResponseWriter) {},
		"in the body": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", js)
			_, _ = io.WriteString(w, "{")
			w.(http.Flusher).Flush()
		},
		"in the stream": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", sse)
			_, _ = io.WriteString(w, "data: ")
			w.(http.Flusher).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			released := make(chan struct{})
			s := connect(t, scripted(t, func(w http.ResponseWriter, _ string) { hang(w); <-released }))
			defer close(released)

			start := time.Now()
			r := s.CallTool(context.Background(), "fault", nil, wire.Options{Timeout: 50 * time.Millisecond})
			require.NotNil(t, r.Err)
			assert.Equal(t, wire.KindTimeout, r.Err.Kind, r.Err.Message)
			assert.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
			assert.Less(t, time.Since(start), 5*time.Second)

			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			r = s.CallTool(ctx, "fault", nil, wire.Options{})
			require.NotNil(t, r.Err)
			assert.Equal(t, wire.KindInterrupted, r.Err.Kind, r.Err.Message)

			assert.Nil(t, s.CallTool(context.Background(), "echo", nil, wire.Options{}).Err)
		})
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it would complain about our refusal
	secure.StartTLS()
	defer secure.Close()
	for name, test := range map[string]struct {
		url  string
		kind wire.Kind
	}{
		"nobody listens":        {closed.URL, wire.KindConnect},
		"no such host":          {"http://no-such-host.invalid/", wire.KindDNS},
		"unknown authority":     {secure.URL, wire.KindTLS},
		"TLS to a plain server": {strings.Replace(plain.URL, "http:", "https:", 1), wire.KindTLS},
	} {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
			defer transport.CloseIdleConnections()
			_, handshake, err := wire.Connect(context.Background(), wire.Config{URL: test.url, HTTP: transport}, wire.Options{})
			assert.Equal(t, test.kind, kindOf(t, err), err)
			require.Len(t, handshake.Replies, 1)
			assert.Zero(t, handshake.Replies[0].Timings.Duration)
		})
	}
}

// The time of a call ends with its reply, not with the stream, and the rest of the stream does not
// hold up the next call.
func TestDurationEndsAtTheReply(t *testing.T) {
	t.Parallel()
	const before, after = 100 * time.Millisecond, 600 * time.Millisecond
	s := connect(t, scripted(t, func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", sse)
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/progress"}`+"\n\n")
		w.(http.Flusher).Flush()
		time.Sleep(before)
		_, _ = io.WriteString(w, "data: "+strings.ReplaceAll(good, "ID", id)+"\n\n")
		w.(http.Flusher).Flush()
		time.Sleep(after)
	}))
	start := time.Now()
	r := s.CallTool(context.Background(), "fault", nil, wire.Options{})
	require.Nil(t, r.Err)
	assert.Less(t, time.Since(start), before+after/2)
	assert.GreaterOrEqual(t, r.Timings.Duration, before)
	assert.Less(t, r.Timings.Duration, before+after/2)
	assert.Positive(t, r.Timings.FirstEvent)
	assert.Less(t, r.Timings.FirstEvent, before)
	assert.Equal(t, 1, r.Events)

	start = time.Now()
	require.Nil(t, s.CallTool(context.Background(), "echo", nil, wire.Options{}).Err)
	assert.Less(t, time.Since(start), after/2)
}

// A stream that ends soon after its reply gives its connection back before the next call.
func TestConnectionIsReused(t *testing.T) {
	t.Parallel()
	s := connect(t, scripted(t, func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", sse)
		_, _ = io.WriteString(w, "data: "+strings.ReplaceAll(good, "ID", id)+"\n\n")
		w.(http.Flusher).Flush()
	}))
	for range 20 {
		r := s.CallTool(context.Background(), "fault", nil, wire.Options{})
		require.Nil(t, r.Err)
		assert.False(t, r.NewConnection)
		assert.Zero(t, r.Timings.Connecting)
	}
}

// Nothing is sent twice: a server that closes every connection without an answer sees each call once.
func TestNothingIsRetried(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	cfg := scripted(t, func(w http.ResponseWriter, id string) {
		seen.Add(1)
		raw("", false)(w, id)
	})
	s := connect(t, cfg)
	for range 5 {
		assert.NotNil(t, s.CallTool(context.Background(), "fault", nil, wire.Options{}).Err)
	}
	assert.EqualValues(t, 5, seen.Load())
}

func TestTimingsOfANewConnection(t *testing.T) {
	t.Parallel()
	cfg := scripted(t, reply(200, js, good))
	_, handshake, err := wire.Connect(context.Background(), cfg, wire.Options{})
	require.NoError(t, err)
	first := handshake.Replies[0]
	assert.True(t, first.NewConnection)
	assert.Positive(t, first.Timings.Connecting)
	assert.GreaterOrEqual(t, first.Timings.Blocked, first.Timings.Connecting)
	assert.False(t, handshake.Replies[1].NewConnection)
}
