package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

func reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Print the tables of a run",
		Long:  "Print the tables of a run from its run.json, which is taken as it is: parity verify checks it.",
		Example: `  parity report results/2026-10-01-quick-0a1b2c
  parity report results/2026-10-01-quick-0a1b2c --markdown`,
		Args: cobra.ExactArgs(1),
	}
	markdown := cmd.Flags().Bool("markdown", false, "print Markdown, as in the run's report.md")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		run, err := result.Read(args[0])
		if err != nil {
			return err
		}
		render := report.Text
		if *markdown {
			render = report.Markdown
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), render(run))
		return err
	}
	return cmd
}
