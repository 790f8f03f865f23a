module github.com/mcp-parity/mcp-parity

go 1.26.0
