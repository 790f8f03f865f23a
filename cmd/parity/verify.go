package main

import (
	"fmt"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/internal/verify"
)

func verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify RUN",
		Short: "Recompute a run from its raw files",
		Long: `Recompute all that a run's folder tells from the raw files in it: checksums, counts, CPU time, verdicts, figures, report. Each
difference is printed, with its file and the place in it. The exit code is 1 if there is one.`,
		Example: `  parity verify results/2026-10-01-quick-0a1b2c`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := verify.Folder(args[0])
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			for _, d := range found.Differences {
				fmt.Fprintln(out, d)
			}
			if n := len(found.Differences); n > 0 {
				fmt.Fprintf(out, "%s: %s\n", args[0], english.Plural(n, "difference", ""))
				return verdict(exitDifferent)
			}
			_, err = fmt.Fprintf(out, "%s: all of %s, %s and %s of the tables are what the raw files give\n", args[0],
				english.Plural(found.Files, "file", ""), english.Plural(found.Launches, "launch", "launches"), english.Plural(found.Cells, "row", ""))
			return err
		},
	}
}
