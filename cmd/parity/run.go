package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/check"
	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/gate"
	"github.com/mcp-parity/mcp-parity/internal/load"
	"github.com/mcp-parity/mcp-parity/internal/oracle"
	display "github.com/mcp-parity/mcp-parity/internal/progress"
	"github.com/mcp-parity/mcp-parity/internal/published"
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
		Use:   "run EXPERIMENT | --resume RUN",
		Short: "Prove that the servers of an experiment are equal, then measure them",
		Long: `Build what an experiment of experiments/ needs, prove that its servers give equal answers, load each of them, print the
tables and write a new folder in results/. If the answers differ, nothing is measured.

Ctrl-C keeps the launches that are finished; --resume goes on with such a run, or with one whose parity was killed, as long as the
experiment, the commit and the machine are the same.`,
		Example: `  parity run quick
  parity run tmdevlab-v1 --scale 0.05
  parity run --resume 2026-10-01-quick-0a1b2c`,
		Args: cobra.MaximumNArgs(1),
	}
	kind := backendFlag(cmd)
	seed := seedFlag(cmd)
	scale := cmd.Flags().Float64("scale", 1, "multiply warm-ups and durations by this, above 0 and up to 1, to take less time; the result says so")
	resume := cmd.Flags().String("resume", "", "go on with the interrupted run of this ID or folder")
	asJSON := cmd.Flags().Bool("json", false, "print run.json instead of the tables")
	results := cmd.Flags().String("results", "", "folder in which the run gets its own; results/ of the checkout if not given")
	cmd.MarkFlagsMutuallyExclusive("resume", "seed")
	cmd.MarkFlagsMutuallyExclusive("resume", "scale")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if (len(args) == 1) == (*resume != "") {
			return errors.New("name an experiment of experiments/, or give the run to go on with by --resume")
		}
		ctx := cmd.Context()
		p, err := open(ctx, *kind)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.backend.Close()) }()
		if *results == "" {
			*results = filepath.Join(p.root, "results")
		}

		var files *result.Folder
		var interrupted *result.Run
		name := ""
		if *resume != "" {
			if files, interrupted, err = result.Reopen(*results, *resume); err != nil {
				return err
			}
			defer files.Close() // when it is done or committed, this does nothing
			name, *scale, *seed = interrupted.Experiment.Name, interrupted.Experiment.Scale, interrupted.Seed
		} else {
			name = args[0]
		}
		e, err := experiment.Find(p.root, name)
		if err != nil {
			return err
		}
		if e, err = e.Scaled(*scale); err != nil {
			return fmt.Errorf("--scale: %w", err)
		}
		targets, err := subject.Select(p.subjects, e.Subjects)
		if err != nil {
			return fmt.Errorf("experiment %s: %w", e.Name, err)
		}

		host := backend.NewHost()
		defer host.Close()
		progress("building k6, which takes some minutes the first time")
		k6, err := load.BuildK6(ctx, host, p.root)
		if err != nil {
			return err
		}
		config, notes, err := loadConfig(p, host, k6)
		if err != nil {
			return err
		}
		run, err := newRun(ctx, p, e, targets, config, notes)
		if err != nil {
			return err
		}
		run.Seed = *seed
		if interrupted != nil {
			if err := load.CheckConditions(interrupted, run); err != nil {
				return fmt.Errorf("the launches of %s were made under other conditions, with which new ones cannot be compared: make them the same again, or start a new run:\n%w",
					interrupted.ID, err)
			}
			run = interrupted
			now := time.Now().UTC().Truncate(time.Millisecond)
			run.ResumedAt = append(run.ResumedAt, now)
			run.Notes = append(run.Notes, fmt.Sprintf("The run was interrupted after %s and resumed on %s UTC.",
				english.Plural(len(run.Launches), "launch", "launches"), now.Format(time.DateTime)))
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
		run.Gate = gateOf(proof)

		if files == nil {
			run.StartedAt = time.Now().UTC().Truncate(time.Millisecond)
			run.ID = result.NewID(e.Name, run.StartedAt)
		}
		folder, err := measure(ctx, p, targets, config, run, files, *results)
		if folder != "" {
			progress("written to " + folder)
		}
		if err != nil {
			if folder != "" {
				progress(fmt.Sprintf("it has what was finished, %s; to go on: parity run --backend %s --resume %s",
					english.Plural(len(run.Launches), "launch", "launches"), run.Environment.Backend, folder))
			}
			return err
		}
		if *asJSON {
			err = run.WriteJSON(os.Stdout)
		} else {
			_, err = fmt.Print(report.Text(run))
		}
		if err != nil {
			return err
		}
		return outcome(run)
	}
	return cmd
}

// outcome is how the command ends: a server that failed or answered wrongly is a finding, a machine that was too busy to measure on is none.
func outcome(run *result.Run) error {
	invalid := 0
	for _, l := range run.Launches {
		if l.Failure != "" || l.Counts.Errors() > 0 {
			progress("a launch failed or had wrong answers; run.json says which and how")
			return verdict(exitDifferent)
		}
		if len(l.Invalid) > 0 {
			invalid++
		}
	}
	if invalid > 0 {
		progress(fmt.Sprintf("%d of %s invalid; run.json says why", invalid, english.Plural(len(run.Launches), "launch is", "launches are")))
		return verdict(exitInconclusive)
	}
	return nil
}

// newRun is a run that would begin now, with all that is known before the gate.
func newRun(ctx context.Context, p project, e experiment.Experiment, targets []subject.Target, config load.Config, notes []string) (*result.Run, error) {
	run := &result.Run{
		SchemaVersion: result.SchemaVersion,
		Status:        result.Partial,
		Command:       "parity " + strings.Join(os.Args[1:], " "),
		Experiment:    e,
		Budget:        config.Budget,
		Notes:         append([]string{"Backend: " + strings.Join(p.backend.Notes(), "; ") + "."}, notes...),
	}
	var err error
	if e.Published != "" {
		if run.Published, err = published.Find(p.root, e.Published); err != nil {
			return nil, err
		}
	}
	if run.Environment, err = result.Capture(ctx, p.root); err != nil {
		return nil, err
	}
	if run.Environment.K6, err = load.K6Version(ctx, config.K6); err != nil {
		return nil, err
	}
	run.Environment.Backend, run.Environment.Engine = p.backend.Name(), p.backend.Engine()
	for _, t := range targets {
		run.Subjects = append(run.Subjects, result.Subject{
			ID: t.ID(), Title: t.Title, Language: result.Version(t.Language), SDK: result.Version(t.SDK),
		})
	}
	return run, nil
}

// loadConfig is how servers are loaded on this machine: each on one CPU and, in a container, with a limit of memory; k6 and upstream on the
// other CPUs. The notes are for whoever reads the figures. The caller adds the services, and upstream once it runs.
func loadConfig(p project, host load.Host, k6 string) (config load.Config, notes []string, err error) {
	cpus, err := load.CPUs()
	if err != nil {
		return load.Config{}, nil, err
	}
	config = load.Config{
		Backend:  p.backend,
		Services: map[string]backend.Service{},
		Host:     host,
		K6:       k6,
		Root:     p.root,
		Oracle:   oracle.Oracle{Upstream: upstream.Handler()}.Call,
	}
	var note string
	config.Budget.ServerCPUs, config.Budget.GeneratorCPUs, note = load.Split(cpus)
	if note != "" {
		notes = append(notes, note)
	}
	if p.backend.Name() == backend.KindDocker { // nothing enforces a limit on processes
		config.Budget.MemoryBytes = serverMemory
	}
	return config, notes, nil
}

// limited is the service within the budget of a server under load.
func limited(service backend.Service, budget result.Budget) backend.Service {
	service.CPUs, service.Memory = budget.ServerCPUs, budget.MemoryBytes
	return service
}

// measure starts upstream and makes the launches. The folder of a run that is not gone on with is nil; it is made in results.
func measure(ctx context.Context, p project, targets []subject.Target, config load.Config, run *result.Run, files *result.Folder, results string) (folder string, err error) {
	plan := stand.Plan{Backend: p.backend, Upstream: backend.Upstream(p.root)}
	plan.Upstream.CPUs = config.Budget.GeneratorCPUs
	err = stand.With(ctx, plan, func(ctx context.Context, s *stand.Stand) error {
		config.Upstream = s.Upstream
		for _, t := range targets {
			config.Services[t.ID()] = limited(backend.ServiceOf(t, s.Upstream.PeerURL()), config.Budget)
		}
		var err error
		if files == nil {
			if files, err = result.NewFolder(results, run.ID); err != nil {
				return err
			}
		}
		folder, err = load.Run(ctx, config, run, files, display.New(os.Stderr))
		return err
	})
	return folder, err
}

// gateOf is what a run says about the proof that came before it.
func gateOf(report *gate.Report) result.Gate {
	g := result.Gate{Seed: report.Seed}
	for _, target := range report.Targets {
		counts := report.Counts(target)
		g.Vectors += counts.Vectors
		g.Known += counts.Known
	}
	return g
}
