package main

import (
	"errors"
	"os"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/internal/check"
	"github.com/mcp-parity/mcp-parity/internal/gate"
)

func checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [subject…]",
		Short: "Prove that servers answer as the contract says",
		Long: `Start the servers, with and without sessions, send them every vector of the contract and compare the answers
with the contract and with each other. A subject is a folder of servers/ (go), one of its variants (go/stateful), or
the path of a folder with a subject.yaml (./my-server). Without subjects all are checked.`,
		Example: `  parity check
  parity check go node
  parity check python --vector 'unicode/*'`,
	}
	kind := backendFlag(cmd)
	seed := seedFlag(cmd)
	junit := junitFlag(cmd)
	vectors := vectorFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) (err error) {
		ctx := cmd.Context()
		p, err := open(ctx, *kind)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.backend.Close()) }()
		targets, err := check.Targets(p.subjects, names)
		if err != nil {
			return err
		}
		report, err := check.Run(ctx, check.Options{
			Root: p.root, Backend: p.backend, Targets: targets, Vectors: *vectors, Seed: *seed, Progress: progress,
		})
		if err != nil {
			return err
		}
		return show(report, *junit)
	}
	return cmd
}

func vectorFlag(cmd *cobra.Command) *[]string {
	return cmd.Flags().StringArray("vector", nil, "send only vectors with this name or pattern, such as 'numbers/*'; may be repeated")
}

func junitFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("junit", "", "also write the outcome of each vector to this file, as JUnit XML")
}

// show prints a report, writes it as JUnit if a file is named, and turns it into an exit code.
func show(report *gate.Report, junit string) error {
	if junit != "" {
		if err := writeJUnit(report, junit); err != nil {
			return err
		}
	}
	if err := report.WriteText(os.Stdout); err != nil {
		return err
	}
	if !report.OK() {
		return verdict(exitDifferent)
	}
	return nil
}

func writeJUnit(report *gate.Report, path string) error {
	file, err := renameio.NewPendingFile(path)
	if err != nil {
		return err
	}
	defer file.Cleanup()
	if err := report.WriteJUnit(file); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}
