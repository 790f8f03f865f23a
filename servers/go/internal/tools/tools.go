// Package tools implements the contract's four tools.
package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A function is one tool: it returns the structured content, or an error whose
// text is for the caller.
type function func(ctx context.Context, args *arguments) (any, error)

var errNotAnObject error = &jsonrpc.Error{
	Code:    jsonrpc.CodeInvalidParams,
	Message: "arguments must be an object",
}

// Register adds the tools to server, each with its definition. It fails if a
// tool has no definition, or a definition no tool.
func Register(server *mcp.Server, definitions map[string]*mcp.Tool, upstream *Upstream) error {
	functions := functions(upstream)
	if len(functions) != len(definitions) {
		return fmt.Errorf("%d tools, but %d definitions", len(functions), len(definitions))
	}
	for name, f := range functions {
		definition, ok := definitions[name]
		if !ok {
			return fmt.Errorf("tool %s has no definition", name)
		}
		server.AddTool(definition, handler(f))
	}
	return nil
}

func functions(upstream *Upstream) map[string]function {
	return map[string]function{
		"calculate_fibonacci": calculateFibonacci,
		"fetch_external_data": upstream.fetchExternalData,
		"process_json_data":   processJSONData,
		"simulate_db_query":   simulateDBQuery,
	}
}

func handler(f function) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := parseArguments(req.Params.Arguments)
		if err != nil {
			return nil, err
		}
		answer, err := f(ctx, args)
		if err != nil {
			return failure(err), nil
		}
		// Sorted keys, so that equal calls have equal bytes.
		text, err := json.Marshal(answer, json.Deterministic(true))
		if err != nil {
			return nil, errors.Join(errors.New("encoding the answer"), err)
		}
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: string(text)}},
			StructuredContent: jsontext.Value(text),
		}, nil
	}
}

func failure(err error) *mcp.CallToolResult {
	var result mcp.CallToolResult
	result.SetError(err)
	return &result
}
