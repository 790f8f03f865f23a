package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/testserver"
)

// stdioEnv makes the test binary a server on stdio, for the tests that need a program.
const stdioEnv = "XK6_MCP_TEST_STDIO"

// faultyChild is the value of stdioEnv for the server of faults; any other is for everything.
const faultyChild = "faulty"

// everything is a server of the official SDK that has something of all that a client can ask for.
func everything() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "everything", Version: "1"}, &sdk.ServerOptions{
		PageSize: 2,
		CompletionHandler: func(_ context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{
				Values: []string{req.Params.Ref.Type, req.Params.Argument.Value + "!"},
			}}, nil
		},
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	type text struct {
		Text string `json:"text"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, text, error) {
		return nil, in, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "calculate_fibonacci"}, func(_ context.Context, _ *sdk.CallToolRequest, in struct {
		N int `json:"n"`
	},
	) (*sdk.CallToolResult, map[string]int, error) {
		a, b := 0, 1
		for range in.N {
			a, b = b, a+b
		}
		return nil, map[string]int{"n": in.N, "result": a}, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "hang"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		select {
		case <-ctx.Done():
		case <-time.After(3 * time.Second): // the SDK does not see that a stateless caller has gone
		}
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(server, &sdk.Tool{Name: "steps"}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, text, error) {
		for i := range 3 {
			if token := req.Params.GetProgressToken(); token != nil {
				err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
					ProgressToken: token, Progress: float64(i + 1), Total: 3, Message: fmt.Sprint("step ", i+1),
				})
				if err != nil {
					return nil, text{}, err
				}
			}
		}
		return nil, text{Text: "done"}, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "sample"}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, text, error) {
		//lint:ignore SA1019 servers still do it, and clients must cope
		answer, err := req.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 1})
		if err != nil {
			return nil, text{}, err
		}
		return nil, text{Text: answer.Model}, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "change"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "test:///a"})
	})
	for _, name := range []string{"a", "b", "c"} {
		server.AddResource(&sdk.Resource{Name: name, URI: "test:///" + name},
			func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: "I am " + req.Params.URI}}}, nil
			})
	}
	server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "any", URITemplate: "any:///{x}"},
		func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI}}}, nil
		})
	server.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who"}}},
		func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
				{Role: "user", Content: &sdk.TextContent{Text: "Hello " + req.Params.Arguments["who"]}},
			}}, nil
		})
	return server
}

func serveStdio() {
	serve := func() error { return everything().Run(context.Background(), &sdk.StdioTransport{}) }
	if os.Getenv(stdioEnv) == faultyChild {
		serve = func() error { return testserver.ServeStdio(os.Stdin, os.Stdout) }
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func everythingURL(t *testing.T, opts *sdk.StreamableHTTPOptions) string {
	t.Helper()
	server := everything()
	s := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, opts))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

func sseURL(t *testing.T) string {
	t.Helper()
	server := everything()
	s := httptest.NewServer(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(s.Close)
	return s.URL + "/sse"
}
