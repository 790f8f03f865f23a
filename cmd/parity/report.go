package main

import (
	"fmt"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
)

func reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Print the tables of a run, or write them with plots as a web page",
		Long: `Print the tables of a run from its run.json, which is taken as it is: parity verify checks it. With --html, write one page that
needs no network, with the tables and plots of the run's raw files.`,
		Example: `  parity report results/2026-10-01-quick-0a1b2c
  parity report results/2026-10-01-quick-0a1b2c --markdown
  parity report results/2026-10-01-quick-0a1b2c --html report.html`,
		Args: cobra.ExactArgs(1),
	}
	markdown := cmd.Flags().Bool("markdown", false, "print Markdown, as in the run's report.md")
	html := cmd.Flags().String("html", "", "write a web page to this file instead; outside the run's folder, whose files are fixed")
	cmd.MarkFlagsMutuallyExclusive("markdown", "html")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		run, err := result.Read(args[0])
		if err != nil {
			return err
		}
		if *html != "" {
			page, err := report.HTML(run, args[0])
			if err != nil {
				return fmt.Errorf("%w: parity verify %s says what is wrong with the run", err, args[0])
			}
			return renameio.WriteFile(*html, page, 0o644)
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
