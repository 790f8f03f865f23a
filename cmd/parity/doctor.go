package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/subject"
)

func doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine has and lacks for each backend",
		Long: `Look for what the docker backend and the process backend need on this machine, and say where to get what is missing.
The exit code is 0 if one of them has all it needs. Both need Go to build k6 for parity run.`,
		Args: cobra.NoArgs,
	}
	asJSON := cmd.Flags().Bool("json", false, "print JSON, for scripts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		root, err := subject.FindRoot(dir)
		if err != nil {
			return err
		}
		subjects, err := subject.Discover(root)
		if err != nil {
			return err
		}
		findings := backend.Doctor(cmd.Context(), root, subjects)
		lacking := map[string]bool{}
		for _, f := range findings {
			lacking[f.Backend] = lacking[f.Backend] || f.Missing != ""
		}
		if *asJSON {
			err = json.NewEncoder(os.Stdout).Encode(findings)
		} else {
			err = printFindings(findings, lacking)
		}
		if err != nil {
			return err
		}
		if lacking[backend.KindDocker] && lacking[backend.KindProcess] {
			return verdict(exitCouldNotRun)
		}
		return nil
	}
	return cmd
}

func printFindings(findings []backend.Finding, lacking map[string]bool) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	last := ""
	for _, f := range findings {
		if f.Backend != last {
			state := "ready"
			if lacking[f.Backend] {
				state = "lacks something"
			}
			fmt.Fprintf(table, "%s backend: %s\n", f.Backend, state)
			last = f.Backend
		}
		mark, text := "ok", f.Found
		if f.Missing != "" {
			mark, text = "MISSING", f.Missing
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", mark, f.What, text, strings.Join(f.For, ", "))
	}
	return table.Flush()
}
