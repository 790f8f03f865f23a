// Command parity proves that MCP servers give equal answers, and measures them.
//
// Exit codes: 0 all is well, 1 a difference was found or a result is invalid, 2 it could not be run, 3 nothing could be concluded.
// `go run` turns every code but 0 into 1; build the command where the code matters.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/subject"
)

const (
	exitDifferent    = 1
	exitCouldNotRun  = 2
	exitInconclusive = 3
)

// verdict is an outcome other than success that has been shown already.
type verdict int

func (v verdict) Error() string { return fmt.Sprintf("exit code %d", int(v)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first Ctrl-C everything is taken down; a second one ends at once.
	context.AfterFunc(ctx, stop)
	os.Exit(exitCode(root().ExecuteContext(ctx)))
}

func exitCode(err error) int {
	var v verdict
	switch {
	case err == nil:
		return 0
	case errors.As(err, &v):
		return int(v)
	default:
		fmt.Fprintln(os.Stderr, "parity:", err)
		return exitCouldNotRun
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "parity",
		Short: "Prove that MCP servers give equal answers, and measure them",
		Long: `Prove that MCP servers give equal answers, and measure them.

Exit codes: 0 all is well, 1 a difference was found, 2 it could not be run,
3 the machine was too busy or too noisy to conclude from.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(checkCommand(), diffCommand(), doctorCommand(), experimentsCommand(), guardCommand(), reportCommand(), runCommand(), upCommand(), verifyCommand())
	return cmd
}

// project is what all commands that start servers work on.
type project struct {
	root     string
	subjects []subject.Subject
	backend  backend.Backend
}

// open finds the project around the current folder and chooses the backend. The caller closes the backend.
func open(ctx context.Context, kind string) (project, error) {
	dir, err := os.Getwd()
	if err != nil {
		return project{}, err
	}
	p := project{}
	if p.root, err = subject.FindRoot(dir); err != nil {
		return project{}, err
	}
	if p.subjects, err = subject.Discover(p.root); err != nil {
		return project{}, err
	}
	if p.backend, err = backend.New(ctx, kind, backend.Options{Root: p.root}); err != nil {
		return project{}, err
	}
	for _, note := range p.backend.Notes() {
		progress(note)
	}
	return p, nil
}

// progress tells a person what happens; standard output is for results.
func progress(line string) { fmt.Fprintln(os.Stderr, line) }

func backendFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("backend", backend.KindAuto, "how servers are started: docker (containers), process (child processes), or auto (docker if an engine answers)")
}

func seedFlag(cmd *cobra.Command) *uint64 {
	return cmd.Flags().Uint64("seed", rand.Uint64N(1_000_000), "seed of all that is random, to repeat a run; drawn if not given")
}
