package main

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/check"
	"github.com/mcp-parity/mcp-parity/internal/gate"
)

func diffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff URL1 URL2",
		Short: "Compare two running MCP servers",
		Long: `Compare the answers of the MCP server at URL2 with those of the one at URL1, such as a server before and after a rewrite.
Their tools are compared first, then their answers to every vector of the contract that calls a tool that both have, or to
every vector of your own file. What a vector expects does not matter here, only whether both answer alike.`,
		Example: `  parity diff http://127.0.0.1:8081/mcp http://127.0.0.1:8082/mcp
  parity diff http://127.0.0.1:3000/mcp http://127.0.0.1:3001/mcp --vectors my-vectors.yaml`,
		Args: cobra.ExactArgs(2),
	}
	seed := seedFlag(cmd)
	junit := junitFlag(cmd)
	vectorsFile := cmd.Flags().String("vectors", "", "send the vectors of this file; contract/vectors/README.md tells the format")
	patterns := vectorFlag(cmd)
	headers := cmd.Flags().StringArray("header", nil, "send this header with every request, such as 'Authorization: Bearer …'; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, urls []string) error {
		vectors, err := diffVectors(*vectorsFile)
		if err != nil {
			return err
		}
		only, err := check.Selection(*patterns, vectors)
		if err != nil {
			return err
		}
		sent, err := parseHeaders(*headers)
		if err != nil {
			return err
		}
		var targets [2]gate.Target
		for i, raw := range urls {
			if targets[i], err = parseTarget(raw); err != nil {
				return err
			}
			targets[i].Headers = sent
		}
		report, err := gate.Diff(cmd.Context(), targets[0], targets[1], vectors, gate.Options{
			Seed: *seed,
			All:  *vectorsFile != "",
			Only: only,
			Repeat: func(_ gate.Target, vector string) string {
				command := fmt.Sprintf("go run ./cmd/parity diff %s %s --vector %s", urls[0], urls[1], vector)
				if *vectorsFile != "" {
					command += " --vectors " + *vectorsFile
				}
				return command
			},
		})
		if err != nil {
			return err
		}
		if err := show(report, *junit); err != nil {
			return err
		}
		if !slices.ContainsFunc(report.Results, func(r gate.Result) bool { return r.Vector != gate.ToolsList }) {
			progress("inconclusive: the tools are alike, but no vector calls one that both have; write some and name the file with --vectors")
			return verdict(exitInconclusive)
		}
		return nil
	}
	return cmd
}

func diffVectors(file string) ([]contract.Vector, error) {
	if file == "" {
		return contract.Vectors()
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return contract.ParseVectors(file, text)
}

// parseTarget takes the URL of an MCP endpoint; one without a path means /mcp.
func parseTarget(raw string) (gate.Target, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return gate.Target{}, fmt.Errorf("%q is not the URL of an MCP server: write it like http://127.0.0.1:8081/mcp", raw)
	}
	target := gate.Target{Name: raw, URL: u.Scheme + "://" + u.Host, MCPPath: u.RequestURI()}
	if target.MCPPath == "/" {
		target.MCPPath = ""
	}
	return target, nil
}

func parseHeaders(lines []string) (map[string]string, error) {
	headers := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("--header %q: write it like 'Name: value'", line)
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return headers, nil
}
