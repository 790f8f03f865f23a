// Package mcpserver builds the MCP server from the contract's definitions and
// the tools behind them.
package mcpserver

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-parity/mcp-parity/servers/go/internal/contract"
	"github.com/mcp-parity/mcp-parity/servers/go/internal/tools"
)

// New returns the one server that all clients share.
func New(upstream *tools.Upstream, logger *slog.Logger) (*mcp.Server, error) {
	definitions, err := contract.Tools()
	if err != nil {
		return nil, fmt.Errorf("reading the contract: %w", err)
	}
	options := &mcp.ServerOptions{
		// Tools only, and they never change: no logging, no listChanged.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	}
	if logger.Enabled(context.Background(), slog.LevelDebug) {
		// The SDK logs two lines at info for each stateless request.
		options.Logger = logger
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "mcp-parity-go", Version: "1.0.0"}, options)
	if err := tools.Register(server, definitions, upstream); err != nil {
		return nil, err
	}
	return server, nil
}
