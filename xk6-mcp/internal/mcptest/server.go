// Package mcptest is an MCP server of the official Go SDK for tests.
package mcptest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// EchoArgs are the arguments of the tool echo, and its structured result.
type EchoArgs struct {
	Text string `json:"text"`
}

// SlowArgs are the arguments of the tool slow.
type SlowArgs struct {
	Ms int `json:"ms"`
}

// Handler serves the tools echo (returns its argument), fail (isError) and slow (waits).
func Handler(opts *mcp.StreamableHTTPOptions) http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "mcptest", Version: "1"}, &mcp.ServerOptions{Instructions: "for tests"})
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Returns its argument."},
		func(_ context.Context, _ *mcp.CallToolRequest, args EchoArgs) (*mcp.CallToolResult, EchoArgs, error) {
			return nil, args, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "Always fails."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("it failed on purpose")
		})
	mcp.AddTool(server, &mcp.Tool{Name: "slow", Description: "Waits for ms milliseconds."},
		func(ctx context.Context, _ *mcp.CallToolRequest, args SlowArgs) (*mcp.CallToolResult, SlowArgs, error) {
			select {
			case <-time.After(time.Duration(args.Ms) * time.Millisecond):
				return nil, args, nil
			case <-ctx.Done():
				return nil, args, ctx.Err()
			}
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts)
}
