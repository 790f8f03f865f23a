package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/check"
	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/gate"
	"github.com/mcp-parity/mcp-parity/internal/load"
	"github.com/mcp-parity/mcp-parity/internal/oracle"
	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stand"
	"github.com/mcp-parity/mcp-parity/internal/subject"
	"github.com/mcp-parity/mcp-parity/internal/upstream"
)

// serverMemory is the memory budget of a server under load, in bytes.
const serverMemory = 1 << 30

func runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run EXPERIMENT",
		Short: "Prove that the servers of an experiment are equal, then measure them",
		Long: `Build what an experiment of experiments/ needs, prove that its servers give equal answers, load each of them, print the
tables and write a new folder in results/. If the answers differ, nothing is measured.`,
		Example: `  parity run quick`,
		Args:    cobra.ExactArgs(1),
	}
	kind := backendFlag(cmd)
	seed := seedFlag(cmd)
	asJSON := cmd.Flags().Bool("json", false, "print run.json instead of the tables")
	results := cmd.Flags().String("results", "", "folder in which the run gets its own; results/ of the checkout if not given")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		ctx := cmd.Context()
		p, err := open(ctx, *kind)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.backend.Close()) }()
		e, err := experiment.Find(p.root, args[0])
		if err != nil {
			return err
		}
		targets, err := subject.Select(p.subjects, e.Subjects)
		if err != nil {
			return fmt.Errorf("experiment %s: %w", e.Name, err)
		}
		if *results == "" {
			*results = filepath.Join(p.root, "results")
		}

		host := backend.NewHost()
		defer host.Close()
		progress("building k6, which takes some minutes the first time")
		k6, err := load.BuildK6(ctx, host, p.root)
		if err != nil {
			return err
		}
		proof, err := check.Run(ctx, check.Options{Root: p.root, Backend: p.backend, Targets: targets, Seed: *seed, Progress: progress})
		if err != nil {
			return err
		}
		if !proof.OK() {
			progress("nothing is measured, because the servers differ:")
			return show(proof, "")
		}
		if err := proof.WriteText(os.Stderr); err != nil {
			return err
		}

		run, folder, err := measure(ctx, p, e, targets, host, k6, *seed, *results, summary(proof))
		if err != nil {
			return err
		}
		progress("written to " + folder)
		if *asJSON {
			err = run.WriteJSON(os.Stdout)
		} else {
			_, err = fmt.Print(report.Text(run))
		}
		if err != nil {
			return err
		}
		for _, cell := range run.Cells {
			if len(cell.Invalid) > 0 {
				progress("some figures are invalid; the launches in run.json say why")
				return verdict(exitDifferent)
			}
		}
		return nil
	}
	return cmd
}

// loadConfig is how the servers of an experiment are loaded on this machine: each on one CPU and, in a container, with a limit of memory;
// k6 and upstream on the other CPUs. Its notes are for whoever reads the figures.
func loadConfig(p project, e experiment.Experiment, host load.Host, k6 string) (load.Config, error) {
	cpus, err := load.CPUs()
	if err != nil {
		return load.Config{}, err
	}
	config := load.Config{
		Backend:  p.backend,
		Services: map[string]backend.Service{},
		Host:     host,
		K6:       k6,
		Script:   e.Load.Script(p.root),
		Oracle:   oracle.Oracle{Upstream: upstream.Handler()}.Call,
	}
	var note string
	config.Budget.ServerCPUs, config.Budget.GeneratorCPUs, note = load.Split(cpus)
	if note != "" {
		config.Notes = append(config.Notes, note)
	}
	if p.backend.Name() == backend.KindDocker { // nothing enforces a limit on processes
		config.Budget.MemoryBytes = serverMemory
	}
	return config, nil
}

// limited is the service within the budget of a server under load.
func limited(service backend.Service, budget result.Budget) backend.Service {
	service.CPUs, service.Memory = budget.ServerCPUs, budget.MemoryBytes
	return service
}

// measure starts upstream and makes the launches.
func measure(ctx context.Context, p project, e experiment.Experiment, targets []subject.Target, host load.Host, k6 string, seed uint64, results, proof string) (run *result.Run, folder string, err error) {
	config, err := loadConfig(p, e, host, k6)
	if err != nil {
		return nil, "", err
	}
	if config.Environment, err = result.Capture(ctx, p.root); err != nil {
		return nil, "", err
	}
	config.Seed = seed
	config.Command = "parity " + strings.Join(os.Args[1:], " ")
	config.Notes = append([]string{proof}, config.Notes...)
	config.Results = results
	config.Progress = os.Stderr
	plan := stand.Plan{Backend: p.backend, Upstream: backend.Upstream(p.root)}
	plan.Upstream.CPUs = config.Budget.GeneratorCPUs
	err = stand.With(ctx, plan, func(ctx context.Context, s *stand.Stand) error {
		config.UpstreamURL = s.Upstream.URL()
		for _, t := range targets {
			config.Services[t.ID()] = limited(backend.ServiceOf(t, s.Upstream.PeerURL()), config.Budget)
			config.Subjects = append(config.Subjects, result.Subject{
				ID: t.ID(), Title: t.Title, Language: result.Version(t.Language), SDK: result.Version(t.SDK),
			})
		}
		var err error
		run, folder, err = load.Run(ctx, config, e)
		return err
	})
	return run, folder, err
}

// summary is what a run says about the proof that came before it.
func summary(report *gate.Report) string {
	vectors, known := 0, 0
	for _, target := range report.Targets {
		counts := report.Counts(target)
		vectors += counts.Vectors
		known += counts.Known
	}
	return fmt.Sprintf("Before the first launch the servers gave equal answers to %d vectors, %d of them with known differences (seed %d).", vectors, known, report.Seed)
}
