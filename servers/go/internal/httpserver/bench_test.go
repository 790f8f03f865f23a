package httpserver

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-parity/mcp-parity/servers/go/internal/mcpserver"
	"github.com/mcp-parity/mcp-parity/servers/go/internal/tools"
)

// BenchmarkCall measures one tools/call of process_json_data without the
// network: the SDK's handler in each of its modes, then this server's, which
// has the contract's checks before it.
func BenchmarkCall(b *testing.B) {
	mcpServer, err := mcpserver.New(tools.NewUpstream("http://127.0.0.1:1"), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	sdk := func(stateless, json bool) http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcpServer },
			&mcp.StreamableHTTPOptions{Stateless: stateless, JSONResponse: json, DisableLocalhostProtection: true})
	}
	ownStateless, _ := testHandler(b, stateless())
	ownStateful, _ := testHandler(b, stateful())
	for _, size := range []int{100, 1_000, 100_000} { // bytes
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"process_json_data","arguments":{"data":{"s":"` +
			strings.Repeat("a", size) + `"}}}}`
		for _, variant := range []struct {
			name    string
			handler http.Handler
		}{
			{"sdk/stateless/sse", sdk(true, false)},
			{"sdk/stateless/json", sdk(true, true)},
			{"sdk/stateful/sse", sdk(false, false)},
			{"sdk/stateful/json", sdk(false, true)},
			{"own/stateless/json", ownStateless},
			{"own/stateful/json", ownStateful},
		} {
			b.Run(fmt.Sprintf("%s/%d", variant.name, size), func(b *testing.B) {
				id := send(variant.handler, post(initialize)).Header().Get("Mcp-Session-Id")
				b.ReportAllocs()
				before := cpuTime(b)
				for b.Loop() {
					if w := send(variant.handler, post(body, "Mcp-Session-Id", id)); w.Code != 200 || !strings.Contains(w.Body.String(), "structuredContent") {
						b.Fatal(w.Body)
					}
				}
				b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// BenchmarkPaths measures small requests, from plain HTTP to a call.
func BenchmarkPaths(b *testing.B) {
	handler, _ := testHandler(b, stateless())
	floor := post(`{"jsonrpc":"2.0","id":1,"method":"any","params":{"n":1}}`)
	floor.URL.Path = "/floor"
	for _, variant := range []struct {
		name    string
		request *http.Request
	}{
		{"hello", httptest.NewRequest(http.MethodGet, "/hello", nil)},
		{"floor", floor},
		{"ping", post(ping)},
		{"tools_list", post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)},
		{"fibonacci_1", post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calculate_fibonacci","arguments":{"n":1}}}`)},
		{"fibonacci_1/2026-07-28", post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calculate_fibonacci","arguments":{"n":1},`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "calculate_fibonacci")},
	} {
		b.Run(variant.name, func(b *testing.B) {
			body, err := io.ReadAll(variant.request.Body)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				r := variant.request.Clone(b.Context())
				r.Body = io.NopCloser(bytes.NewReader(body))
				if w := send(handler, r); w.Code != 200 {
					b.Fatal(w.Body)
				}
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkLarge lets ten clients at once send nearly as much as is allowed, and
// reports the most memory that the process ever had: run it alone.
func BenchmarkLarge(b *testing.B) {
	handler, _ := testHandler(b, stateless())
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"process_json_data","arguments":{"data":{"s":"` +
		strings.Repeat("a", 39<<20/10) + `"}}}}`
	for b.Loop() {
		var clients sync.WaitGroup
		for range 10 {
			clients.Go(func() {
				if w := send(handler, post(body)); w.Code != 200 {
					b.Error(w.Body)
				}
			})
		}
		clients.Wait()
	}
	b.ReportMetric(float64(usage(b).Maxrss)/1024, "peak-MB")
}

// cpuTime is the processor time of this process, garbage collection included.
// It says more than the clock on a machine that does other things too.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	u := usage(b)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func usage(b *testing.B) syscall.Rusage {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u
}
