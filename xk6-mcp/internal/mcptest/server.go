// Package mcptest is an MCP server of the official Go SDK for tests.
package mcptest

//lint:file-ignore SA1019 Roots and sampling leave the protocol, and clients must be tested with them until then.

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

// StepsArgs are the arguments of the tool steps.
type StepsArgs struct {
	N int `json:"n"`
}

// AskArgs are the arguments of the tool ask: roots, sampling or elicitation.
type AskArgs struct {
	What string `json:"what"`
}

// New returns the server. It has the tools
//
//   - echo: returns its argument;
//   - fail: an error of the tool;
//   - slow: waits;
//   - steps: sends n progress notifications;
//   - ask: asks the client, and returns its answer;
//   - confirm: asks for roots in the way of the revision: with a result that says so, from 2026-07-28 on;
//   - announce: says that the list of prompts has changed, and the resource;
//   - calculate_fibonacci: which the examples call;
//
// the resource test://greeting, the template test://greeting/{name}, the prompt greet, and completion.
func New(opts *mcp.ServerOptions) *mcp.Server {
	options := mcp.ServerOptions{}
	if opts != nil {
		options = *opts
	}
	options.Instructions = "for tests"
	options.SubscribeHandler = func(context.Context, *mcp.SubscribeRequest) error { return nil }
	options.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	options.CompletionHandler = func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{req.Params.Argument.Value + "a"}}}, nil
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "mcptest", Version: "1"}, &options)
	addTools(server)
	addAskingTools(server)
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: "hello"}}}, nil
	}
	server.AddResource(&mcp.Resource{URI: "test://greeting", Name: "greeting"}, read)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://greeting/{name}", Name: "greeting by name"}, read)
	server.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "name"}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text := &mcp.TextContent{Text: "Greet " + req.Params.Arguments["name"]}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: text}}}, nil
		})
	return server
}

func addTools(server *mcp.Server) {
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
}

// addAskingTools adds the tools that send to the client before they answer.
func addAskingTools(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "steps", Description: "Sends n progress notifications."},
		func(ctx context.Context, req *mcp.CallToolRequest, args StepsArgs) (*mcp.CallToolResult, StepsArgs, error) {
			for i := range args.N {
				err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: req.Params.GetProgressToken(),
					Progress:      float64(i + 1), Total: float64(args.N), Message: "working",
				})
				if err != nil {
					return nil, args, err
				}
			}
			return nil, args, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "ask", Description: "Asks the client for roots, sampling or elicitation."},
		func(ctx context.Context, req *mcp.CallToolRequest, args AskArgs) (*mcp.CallToolResult, any, error) {
			var answer any
			var err error
			switch args.What {
			case "roots":
				answer, err = req.Session.ListRoots(ctx, nil)
			case "sampling":
				answer, err = req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{}})
			default:
				answer, err = req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "May I?"})
			}
			return nil, map[string]any{"answer": answer}, err
		})
	server.AddTool(&mcp.Tool{Name: "confirm", Description: "Asks for roots.", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, ok := req.Params.InputResponses["the roots"].(*mcp.ListRootsResult)
			if !ok {
				return &mcp.CallToolResult{
					InputRequests: mcp.InputRequestMap{"the roots": &mcp.ListRootsParams{}}, RequestState: "asked",
				}, nil
			}
			text := &mcp.TextContent{Text: req.Params.RequestState}
			for _, root := range answer.Roots {
				text.Text += " " + root.URI
			}
			return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "announce", Description: "Says that the prompts and the resource have changed."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			addTemporary(server)
			return nil, map[string]any{}, server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "test://greeting"})
		})
}

func addTemporary(server *mcp.Server) {
	const name = "temporary"
	server.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, nil
	})
	server.RemovePrompts(name)
}

// Handler serves New over Streamable HTTP.
func Handler(opts *mcp.StreamableHTTPOptions) http.Handler {
	server := New(nil)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts)
}

// SSEHandler serves New over HTTP+SSE.
func SSEHandler() http.Handler {
	server := New(nil)
	return mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

// ServeStdio serves New on the standard input and output until the input ends.
func ServeStdio() error {
	return New(nil).Run(context.Background(), &mcp.StdioTransport{})
}
