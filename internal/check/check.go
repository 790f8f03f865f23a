// Package check proves parity: it starts servers, sends them every vector and compares their answers with the contract and with each
// other. `parity check` and the parity test are both this.
package check

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/gate"
	"github.com/mcp-parity/mcp-parity/internal/oracle"
	"github.com/mcp-parity/mcp-parity/internal/stand"
	"github.com/mcp-parity/mcp-parity/internal/subject"
	"github.com/mcp-parity/mcp-parity/internal/upstream"
)

// randomVectors is how many vectors with random arguments are added to the written ones.
const randomVectors = 40

// Options say what is checked.
type Options struct {
	// Root is the root of the project.
	Root    string
	Backend backend.Backend
	// Targets are the servers; each is compared with the contract and with the first.
	Targets []subject.Target
	// Vectors limits the check to vectors whose names match one of these patterns, as of path.Match; empty for all.
	Vectors []string
	// Seed gives the random arguments.
	Seed uint64
	// Progress is called with what happens next.
	Progress func(string)
}

// Targets returns what is checked when these subjects are named: each subject with all its variants, or one variant; without names all
// that there are.
func Targets(all []subject.Subject, names []string) ([]subject.Target, error) {
	selected, err := subject.Select(all, names)
	if err != nil {
		return nil, err
	}
	var targets []subject.Target
	for _, s := range selected {
		variants := []subject.Target{s}
		if s.Variant == "" {
			variants = s.Targets()
		}
		for _, t := range variants {
			if !slices.ContainsFunc(targets, func(other subject.Target) bool { return other.ID() == t.ID() }) {
				targets = append(targets, t)
			}
		}
	}
	return targets, nil
}

// Run builds and starts the targets, checks them and stops them. An error means that the check could not be made; what the check
// found is in the report.
func Run(ctx context.Context, opt Options) (*gate.Report, error) {
	tools, err := contract.Tools()
	if err != nil {
		return nil, err
	}
	known, err := contract.KnownDifferences()
	if err != nil {
		return nil, err
	}
	vectors, err := Vectors(opt.Seed)
	if err != nil {
		return nil, err
	}
	only, err := Selection(opt.Vectors, vectors)
	if err != nil {
		return nil, err
	}
	options := gate.Options{Seed: opt.Seed, Known: known, Only: only, Repeat: opt.repeat}

	plan := stand.Plan{Backend: opt.Backend, Upstream: backend.Upstream(opt.Root), Targets: opt.Targets}
	if err := stand.Build(ctx, plan, func(name string) { opt.Progress("building " + name) }); err != nil {
		return nil, err
	}
	opt.Progress(fmt.Sprintf("starting upstream and %d servers", len(opt.Targets)))
	var report *gate.Report
	err = stand.With(ctx, plan, func(ctx context.Context, s *stand.Stand) error {
		var targets []gate.Target
		for _, server := range s.Servers {
			targets = append(targets, gate.Target{Name: server.ID(), URL: server.URL(), Stateful: server.Stateful(), Profiles: server.Profiles()})
		}
		opt.Progress(fmt.Sprintf("sending up to %d vectors to each server, random arguments from seed %d", len(vectors), opt.Seed))
		var err error
		report, err = phases(ctx, s, targets, tools, vectors, options)
		return err
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// phases sends the vectors while upstream runs, then those for a stopped upstream, and stops the servers during a call.
func phases(ctx context.Context, s *stand.Stand, targets []gate.Target, tools []contract.Tool, vectors []contract.Vector, opt gate.Options) (*gate.Report, error) {
	report := gate.NewReport(targets, opt)
	only := opt.Only
	opt.Only = func(name string) bool { return name != shutdown.Name && (only == nil || only(name)) }
	if wanted(opt, vectors) {
		up, err := gate.Check(ctx, targets, tools, vectors, opt)
		if err != nil {
			return nil, err
		}
		report.Merge(up)
	}
	stopped := opt
	stopped.Upstream = "stopped"
	if wanted(stopped, vectors) {
		if _, err := s.Upstream.Stop(ctx); err != nil {
			return nil, fmt.Errorf("stop upstream: %w", err)
		}
		down, err := gate.Check(ctx, targets, tools, vectors, stopped)
		if err != nil {
			return nil, err
		}
		report.Merge(down)
	}
	if only == nil || only(shutdown.Name) {
		ended, err := checkShutdown(ctx, s, targets, tools, vectors, opt)
		if err != nil {
			return nil, err
		}
		report.Merge(ended)
	}
	return report, nil
}

// wanted reports whether anything is to be sent in this state of the upstream service.
func wanted(opt gate.Options, vectors []contract.Vector) bool {
	return opt.Upstream == "" && slices.ContainsFunc(builtIn, opt.Only) ||
		slices.ContainsFunc(vectors, func(v contract.Vector) bool { return v.Upstream == opt.Upstream && opt.Only(v.Name) })
}

var builtIn = []string{gate.RepeatList, gate.RepeatCall, gate.SameID}

// Vectors returns the contract's vectors, random ones from the seed, and the call that is in flight when a server is stopped.
func Vectors(seed uint64) ([]contract.Vector, error) {
	vectors, err := contract.Vectors()
	if err != nil {
		return nil, err
	}
	random, err := oracle.Oracle{Upstream: upstream.Handler()}.Random(seed, randomVectors)
	if err != nil {
		return nil, err
	}
	return append(append(vectors, random...), shutdown), nil
}

// Selection returns a function that says whether a name matches one of the patterns; nil without patterns. A pattern that matches
// nothing is an error.
func Selection(patterns []string, vectors []contract.Vector) (func(string) bool, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	names := slices.Clone(builtIn)
	for _, v := range vectors {
		names = append(names, v.Name)
	}
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("vector pattern %q: %w", pattern, err)
		}
		if !slices.ContainsFunc(names, func(name string) bool { return match(pattern, name) }) {
			group, _, _ := strings.Cut(pattern, "/")
			return nil, fmt.Errorf("no vector is named %q; the names are in contract/vectors, such as fibonacci/n-10 for the vector n-10 of the group fibonacci, and %s/* means all of a group", pattern, group)
		}
	}
	return func(name string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return match(pattern, name) })
	}, nil
}

func match(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}

// repeat is the command that repeats one vector on one target.
func (opt Options) repeat(target gate.Target, vector string) string {
	command := fmt.Sprintf("go run ./cmd/parity check %s --backend %s --vector %s", target.Name, opt.Backend.Name(), vector)
	if strings.HasPrefix(vector, "random/") {
		command += fmt.Sprintf(" --seed %d", opt.Seed)
	}
	return command
}
