package mcp

import (
	"bufio"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/mcptest"
)

// serverEnv makes the test binary a server over HTTP that prints its URL and ends with its standard input.
const serverEnv = "XK6_MCP_TEST_SERVER"

func serveHTTP() {
	server := httptest.NewServer(mcptest.Handler(&sdk.StreamableHTTPOptions{}))
	_, _ = os.Stdout.WriteString(server.URL + "/mcp\n")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// BenchmarkIdleStreams prints the largest resident memory of a k6 process that opens so many streams, holds them for
// HOLD seconds and ends them, and how many were open after that time. The server is a process of its own: each needs a
// file per stream.
func BenchmarkIdleStreams(b *testing.B) {
	server := exec.CommandContext(b.Context(), os.Args[0])
	server.Env = append(os.Environ(), serverEnv+"=1")
	stdin, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	defer func() { // its input ends first, which tells it to end
		_ = stdin.Close()
		_ = server.Wait()
	}()
	for b.Loop() {
		k6 := exec.CommandContext(b.Context(), os.Args[0], "run", "--no-usage-report", "--address", "", "--quiet", "examples/idle-streams.js")
		streams := "10000"
		if s := os.Getenv("STREAMS"); s != "" {
			streams = s
		}
		k6.Env = append(os.Environ(), k6Env+"=1", "GOGC=25", "K6_AUTO_EXTENSION_RESOLUTION=false", "MCP_URL="+url[:len(url)-1], "STREAMS="+streams)
		output, err := k6.CombinedOutput()
		if err != nil {
			b.Fatalf("%s: %s", err, output)
		}
		open, err := strconv.Atoi(string(regexp.MustCompile(`(\d+) of \d+ streams`).FindSubmatch(output)[1]))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(open), "streams")
		b.ReportMetric(float64(maxRSS(k6.ProcessState))/(1<<20), "rss-MB")
	}
}
