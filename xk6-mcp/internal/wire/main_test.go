package wire_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/mcptest"
)

// Whatever a test starts, it must end: sessions leave no goroutine behind. As a child process of a
// test, this is an MCP server.
func TestMain(m *testing.M) {
	switch mode := os.Getenv("WIRE_TEST_CHILD"); mode {
	case "":
		goleak.VerifyTestMain(m)
	case "sdk":
		if err := mcptest.ServeStdio(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
