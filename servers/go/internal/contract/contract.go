// Package contract holds the tool definitions that every server of the
// comparison serves.
package contract

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Embedding cannot reach outside the module, so the files are copied here and
// committed; a test compares them with the originals.
//
//go:generate sh -c "rm -f tools/*.json && cp ../../../../contract/tools/*.json tools/"
//go:embed tools/*.json
var files embed.FS

// Tools returns the tool definitions, keyed by name. The schemas stay the raw
// JSON of the contract, so that tools/list cannot differ from it.
func Tools() (map[string]*mcp.Tool, error) {
	paths, err := fs.Glob(files, "tools/*.json")
	if err != nil {
		return nil, err
	}
	tools := make(map[string]*mcp.Tool, len(paths))
	for _, path := range paths {
		tool, err := readTool(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		tools[tool.Name] = tool
	}
	return tools, nil
}

func readTool(path string) (*mcp.Tool, error) {
	data, err := files.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		mcp.Tool
		// These shadow the fields of mcp.Tool, which would be decoded into maps.
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	tool := file.Tool
	if tool.InputSchema, err = compact(file.InputSchema); err != nil {
		return nil, err
	}
	if tool.OutputSchema, err = compact(file.OutputSchema); err != nil {
		return nil, err
	}
	return &tool, nil
}

// compact drops white space once, which the SDK would do for each tools/list.
func compact(schema json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	err := json.Compact(&b, schema)
	return b.Bytes(), err
}
