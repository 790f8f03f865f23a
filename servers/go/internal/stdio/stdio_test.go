package stdio

import (
	"bufio"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-parity/mcp-parity/servers/go/internal/mcpserver"
	"github.com/mcp-parity/mcp-parity/servers/go/internal/tools"
)

const requests = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"simulate_db_query","arguments":{"query":"last","delay_ms":300,"rows":0}}}
`

// start returns the client's two ends, and what Start reports.
func start(t *testing.T) (server *Server, in io.WriteCloser, out *bufio.Scanner, ended chan error) {
	t.Helper()
	mcpServer, err := mcpserver.New(tools.NewUpstream("http://127.0.0.1:1"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	server = newServer(mcpServer, &mcp.IOTransport{Reader: serverIn, Writer: serverOut})
	ended = make(chan error, 1)
	server.Start(func(err error) { ended <- err })
	return server, clientOut, bufio.NewScanner(clientIn), ended
}

func TestEndOfInput(t *testing.T) {
	_, in, out, ended := start(t)
	go func() {
		_, _ = io.WriteString(in, requests) // a failure shows below
		_ = in.Close()
	}()
	expectAnswers(t, out)
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestStop(t *testing.T) {
	server, in, out, ended := start(t)
	if _, err := io.WriteString(in, requests); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() {
		time.Sleep(100 * time.Millisecond) // for the call to arrive
		stopped <- server.Stop(t.Context())
	}()
	expectAnswers(t, out)
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Stop: %v", err)
	}
}

func TestBrokenInput(t *testing.T) {
	_, in, _, ended := start(t)
	if _, err := io.WriteString(in, "x\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("ended without an error")
	}
}

// expectAnswers reads to the end of the output.
func expectAnswers(t *testing.T, out *bufio.Scanner) {
	t.Helper()
	for _, want := range []string{`"protocolVersion":"2025-11-25"`, `"query":"last"`} {
		if !out.Scan() || !strings.Contains(out.Text(), want) {
			t.Errorf("wanted an answer with %s, got %q", want, out.Text())
		}
	}
	if out.Scan() {
		t.Errorf("one answer too many: %q", out.Text())
	}
}
