// Command k6 is k6 with the k6/x/mcp extension. The binary contains k6 and is therefore under k6's
// licence, AGPL-3.0.
package main

import (
	"go.k6.io/k6/v2/cmd"

	_ "github.com/mcp-parity/mcp-parity/xk6-mcp" // registers k6/x/mcp
)

func main() { cmd.Execute() }
