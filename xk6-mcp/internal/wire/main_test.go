package wire_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/mcptest"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/testserver"
)

// Whatever a test starts, it must end: sessions leave no goroutine behind. As a child process of a
// test, this is an MCP server.
func TestMain(m *testing.M) {
	switch mode := os.Getenv("WIRE_TEST_CHILD"); mode {
	case "":
		goleak.VerifyTestMain(m)
	case "sdk":
		exit(mcptest.ServeStdio())
	case "faulty":
		exit(testserver.ServeStdio(os.Stdin, os.Stdout))
	default:
		exit(fmt.Errorf("no child process %q", mode))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
