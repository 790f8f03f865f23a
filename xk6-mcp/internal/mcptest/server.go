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

// FibonacciArgs are the arguments of the tool calculate_fibonacci.
type FibonacciArgs struct {
	N int `json:"n"`
}

// Fibonacci is the result of the tool calculate_fibonacci.
type Fibonacci struct {
	N      int `json:"n"`
	Result int `json:"result"`
}

// Handler serves the tools echo (returns its argument), fail (isError), slow (waits), and
// calculate_fibonacci, which the examples call.
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
	mcp.AddTool(server, &mcp.Tool{Name: "calculate_fibonacci", Description: "Returns the n-th Fibonacci number."},
		func(_ context.Context, _ *mcp.CallToolRequest, args FibonacciArgs) (*mcp.CallToolResult, Fibonacci, error) {
			a, b := 0, 1
			for range args.N {
				a, b = b, a+b
			}
			return nil, Fibonacci{N: args.N, Result: a}, nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts)
}
