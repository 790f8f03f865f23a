package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// canned answers every POST from bytes that are there already. It allocates nothing per request and
// knows no HTTP beyond what this client sends, so that what is measured is the client.
func canned(b testing.TB, contentType string) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answerCanned(conn, contentType)
		}
	}()
	return "http://" + l.Addr().String() + "/mcp"
}

func answerCanned(conn net.Conn, contentType string) {
	defer func() { _ = conn.Close() }()
	const result = `,"result":{"protocolVersion":"2025-11-25","content":[{"type":"text","text":"{\"text\":\"hello\"}"}],"structuredContent":{"text":"hello"}}}`
	r := bufio.NewReader(conn)
	body, out := make([]byte, 4096), make([]byte, 0, 4096)
	for {
		length := 0
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(line) == 2 {
				break
			}
			if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				for _, c := range bytes.TrimSpace(value) {
					length = 10*length + int(c-'0')
				}
			}
		}
		if _, err := io.ReadFull(r, body[:length]); err != nil {
			return
		}
		_, id, _ := bytes.Cut(body[:length], []byte(`"id":`))
		if end := bytes.IndexByte(id, ','); end >= 0 {
			id = id[:end]
		} else {
			id = []byte("0")
		}
		before, after := "", ""
		if contentType == "text/event-stream" {
			before, after = "data: ", "\n\n"
		}
		size := len(before) + len(`{"jsonrpc":"2.0","id":`) + len(id) + len(result) + len(after)
		out = append(out[:0], "HTTP/1.1 200 OK\r\nContent-Type: "...)
		out = append(out, contentType...)
		out = append(out, "\r\nContent-Length: "...)
		out = strconv.AppendInt(out, int64(size), 10)
		out = append(append(out, "\r\n\r\n"...), before...)
		out = append(append(out, `{"jsonrpc":"2.0","id":`...), id...)
		out = append(append(out, result...), after...)
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

const (
	echoArguments = `{"text":"hello"}`
	echoBody      = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`
)

// caller returns a function that makes one call through the client.
func caller(b testing.TB, contentType, version string) func() {
	transport := &http.Transport{}
	b.Cleanup(transport.CloseIdleConnections)
	s, err := wire.Attach(wire.Config{URL: canned(b, contentType), HTTP: transport}, "", version)
	require.NoError(b, err)
	b.Cleanup(s.Abandon)
	arguments := []byte(echoArguments)
	return func() {
		if r := s.CallTool(context.Background(), "echo", arguments, wire.Options{}); r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}

// bare returns a function that sends the same with net/http alone, as a plain loop would: http.Client with
// a timeout, like the one that this client keeps, and the answer read but not looked at.
func bare(b testing.TB) func() {
	transport := &http.Transport{}
	b.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: wire.DefaultTimeout}
	url := canned(b, "application/json")
	return func() {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(echoBody))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Protocol-Version", wire.LatestVersion)
		resp, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			b.Fatal(err)
		}
		_ = resp.Body.Close()
	}
}

func BenchmarkCall(b *testing.B) {
	for _, bench := range []struct {
		name string
		call func(testing.TB) func()
	}{
		{"bare", bare},
		{"json", func(b testing.TB) func() { return caller(b, "application/json", wire.LatestVersion) }},
		{"stream", func(b testing.TB) func() { return caller(b, "text/event-stream", wire.LatestVersion) }},
		{"stateless", func(b testing.TB) func() { return caller(b, "application/json", wire.StatelessVersion) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			call := bench.call(b)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

// BenchmarkAgainstBare prints what the client costs over net/http: both in the same run and in turns,
// so that whatever else the machine does falls on both.
func BenchmarkAgainstBare(b *testing.B) {
	const round = 200
	calls := [2]func(){caller(b, "application/json", wire.LatestVersion), bare(b)}
	var each [2][]time.Duration
	var total [2]time.Duration
	for b.Loop() {
		for which, call := range calls {
			for range round {
				start := time.Now()
				call()
				took := time.Since(start)
				each[which], total[which] = append(each[which], took), total[which]+took
			}
		}
	}
	median := func(d []time.Duration) float64 { slices.Sort(d); return float64(d[len(d)/2]) }
	client, alone := median(each[0]), median(each[1])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(client/1e3, "p50-us")
	b.ReportMetric(alone/1e3, "bare-p50-us")
	b.ReportMetric(client/alone, "p50-ratio")
	b.ReportMetric(float64(total[1])/float64(total[0]), "calls/s-ratio")
}

// The budget of one call. The server in the same process allocates nothing.
func TestCallBudget(t *testing.T) {
	const calls, mostAllocations, mostBytes = 2000, 75, 6000
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		call := caller(t, contentType, wire.LatestVersion)
		for range 100 {
			call() // the connection and the pools
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			call()
		}
		runtime.ReadMemStats(&after)
		allocations := float64(after.Mallocs-before.Mallocs) / calls
		size := float64(after.TotalAlloc-before.TotalAlloc) / calls
		t.Logf("%s: %.1f allocations and %.0f bytes per call", contentType, allocations, size)
		if !raceEnabled {
			assert.LessOrEqual(t, allocations, float64(mostAllocations), contentType)
			assert.LessOrEqual(t, size, float64(mostBytes), contentType)
		}
	}
}
