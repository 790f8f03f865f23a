package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/spf13/cobra"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/check"
	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/guard"
	"github.com/mcp-parity/mcp-parity/internal/load"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stand"
	"github.com/mcp-parity/mcp-parity/internal/stats"
	"github.com/mcp-parity/mcp-parity/internal/subject"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

const (
	// guardExperiment has the workloads and the load of the guard.
	guardExperiment = "quick"
	// workingTree stands for the files as they are, committed or not.
	workingTree = "."
	// imagePrefix marks a container image. No name of git has a colon.
	imagePrefix = "image:"
)

func guardCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "guard --subject NAME --base VERSION [--head VERSION]",
		Short: "Say whether a change made a server slower",
		Long: `Compare two versions of one server: git commits, or container images that were built elsewhere. Both are proven to answer as the
contract says; then they are launched in pairs, interleaved, under the workloads of experiments/` + guardExperiment + `.yaml, with pairs of base and
base between to show the machine's noise. The contract, the load generator and the upstream service are those of this checkout for both.

Exit codes: 0 PASS, 1 FAIL (head is slower, or its answers are wrong), 2 it could not be run,
3 INCONCLUSIVE (the machine is too noisy to tell). docs/guard.md has the rule.`,
		Example: `  parity guard --subject go --base main
  parity guard --subject python --base v1.2.0 --head HEAD --workload process_json_data
  parity guard --subject node/stateful --base "$(git merge-base origin/main HEAD)"
  parity guard --subject go --base image:my-server:1.4 --head image:my-server:1.5
  parity guard --subject java --base main --warmup 60s --duration 20s`,
		Args: cobra.NoArgs,
	}
	kind := backendFlag(cmd)
	seed := seedFlag(cmd)
	name := cmd.Flags().String("subject", "", "the server, or a variant of it: go, go/stateful")
	base := cmd.Flags().String("base", "", "the version to compare with: a commit, branch or tag, or image:NAME")
	head := cmd.Flags().String("head", workingTree, `the version to judge; "." for the files as they are`)
	workloads := cmd.Flags().StringSlice("workload", nil, "measure only these workloads, separated by commas; may be repeated")
	looks := cmd.Flags().IntSlice("pairs", guard.DefaultLooks, "numbers of pairs after which the verdict is looked for")
	warmup := cmd.Flags().Duration("warmup", 0, "warm-up of each launch, however the server behaves; if not given, as long as experiments/"+guardExperiment+".yaml lets it take to get steady")
	duration := cmd.Flags().Duration("duration", 0, "measured time of each launch; if not given, that of the experiment")
	asJSON := cmd.Flags().Bool("json", false, "print everything as JSON instead of the table")
	for _, required := range []string{"subject", "base"} {
		if err := cmd.MarkFlagRequired(required); err != nil {
			panic(err) // the flag is defined above
		}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		ctx := cmd.Context()
		if err := guard.CheckLooks(*looks); err != nil {
			return fmt.Errorf("--pairs: %w", err)
		}
		p, err := open(ctx, *kind)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.backend.Close()) }()
		if strings.HasPrefix(*name, ".") || filepath.IsAbs(*name) {
			return fmt.Errorf("--subject: %s is a path; name a folder of servers/, which both commits must have", *name)
		}
		if _, err := subject.Select(p.subjects, []string{*name}); err != nil {
			return fmt.Errorf("--subject: %w", err)
		}
		e, err := experiment.Find(p.root, guardExperiment)
		if err != nil {
			return err
		}
		if e.Workloads, err = selectWorkloads(e, *workloads); err != nil {
			return err
		}
		for i := range e.Workloads {
			if err := forGuard(&e.Workloads[i], *warmup, *duration); err != nil {
				return err
			}
		}

		versions := map[string]version{}
		for _, v := range []struct{ label, ref string }{{guard.Base, *base}, {guard.Head, *head}} {
			if strings.HasPrefix(v.ref, imagePrefix) && p.backend.Name() != backend.KindDocker {
				return fmt.Errorf("--%s: %s is a container image, but servers are started as processes here: start a Docker engine and use --backend docker", v.label, v.ref)
			}
			found, remove, findErr := findVersion(ctx, p.root, v.ref, *name)
			if findErr != nil {
				return fmt.Errorf("--%s: %w", v.label, findErr)
			}
			defer func() { err = errors.Join(err, remove()) }()
			versions[v.label] = found
		}

		if *warmup == 0 {
			own := max(versions[guard.Base].target.Warmup, versions[guard.Head].target.Warmup)
			e.Warmups = map[string]yamlfile.Duration{guard.Base: own, guard.Head: own}
		}

		host := backend.NewHost()
		defer host.Close()
		progress("building k6, which takes some minutes the first time")
		k6, err := load.BuildK6(ctx, host, p.root)
		if err != nil {
			return err
		}
		for _, label := range []string{guard.Base, guard.Head} {
			v := versions[label]
			progress(fmt.Sprintf("proving %s, %s", label, v.title))
			proof, err := check.Run(ctx, check.Options{Root: p.root, Backend: p.backend, Targets: []subject.Target{v.target}, Seed: *seed, Progress: progress})
			if err != nil {
				return fmt.Errorf("%s: %w", label, err)
			}
			if proof.OK() {
				continue
			}
			progress(fmt.Sprintf("nothing is measured, because %s, %s, does not answer as the contract of this checkout says (commands that repeat a vector are for a checkout of %s):",
				label, v.title, label))
			if label == guard.Base {
				if err := proof.WriteText(os.Stderr); err != nil {
					return err
				}
				return errors.New("base is not fit to compare with: choose a later one")
			}
			return show(proof, "")
		}

		report, err := compare(ctx, p, e, versions, host, k6, *seed, *looks)
		if err != nil {
			return err
		}
		report.Subject, report.Base, report.Head = *name, versions[guard.Base].title, versions[guard.Head].title
		if *asJSON {
			err = report.WriteJSON(cmd.OutOrStdout())
		} else {
			err = report.WriteText(cmd.OutOrStdout())
		}
		if err != nil {
			return err
		}
		switch report.Verdict {
		case guard.Pass:
			return nil
		case guard.Fail:
			return verdict(exitDifferent)
		default:
			return verdict(exitInconclusive)
		}
	}
	return cmd
}

// selectWorkloads returns the experiment's workloads with these names; all without names.
func selectWorkloads(e experiment.Experiment, names []string) ([]experiment.Workload, error) {
	if len(names) == 0 {
		return e.Workloads, nil
	}
	var known []string
	for _, w := range e.Workloads {
		known = append(known, w.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("--workload: there is no workload %q in experiments/%s.yaml: choose from %s", name, e.Name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(e.Workloads), func(w experiment.Workload) bool { return !slices.Contains(names, w.Name) }), nil
}

// forGuard makes a workload one of base and head, with these times where they are given.
func forGuard(w *experiment.Workload, warmup, duration time.Duration) error {
	w.Subjects, w.Reference = []string{guard.Base, guard.Head}, guard.Base
	for _, given := range []struct {
		flag  string
		value time.Duration
		into  *yamlfile.Duration
	}{{"warmup", warmup, &w.Load.Warmup}, {"duration", duration, &w.Load.Duration}} {
		if given.value == 0 {
			continue
		}
		if given.value < time.Second || given.value > time.Hour {
			return fmt.Errorf("--%s: %s is not from 1s to 1h", given.flag, given.value)
		}
		*given.into = yamlfile.Duration(given.value)
	}
	if warmup > 0 {
		w.Load.WarmupLimit = 0
	}
	return nil
}

// version is the server in one of the versions that are compared.
type version struct {
	title  string
	target subject.Target
}

// findVersion finds the subject at a commit, in a checkout of its own that remove removes; or in the working tree, as it is or as an image.
func findVersion(ctx context.Context, root, ref, id string) (v version, remove func() error, err error) {
	dir := root
	remove = func() error { return nil }
	image, isImage := strings.CutPrefix(ref, imagePrefix)
	switch {
	case isImage && image == "":
		return version{}, nil, errors.New("image: names no image: write it like image:my-server:1.4")
	case isImage:
		v.title = ref
	case ref == workingTree:
		v.title = "(working tree)"
	default:
		checkout, err := guard.NewCheckout(ctx, root, ref)
		if err != nil {
			return version{}, nil, err
		}
		remove = func() error { return checkout.Remove(ctx) }
		dir = checkout.Dir
		v.title = fmt.Sprintf("%.10s", checkout.Commit)
		if !strings.HasPrefix(checkout.Commit, ref) {
			v.title = ref + " (" + v.title + ")"
		}
	}
	folder, _, _ := strings.Cut(id, "/")
	s, err := subject.Load(filepath.Join(dir, "servers", folder))
	if err == nil {
		var targets []subject.Target
		if targets, err = subject.Select([]subject.Subject{s}, []string{id}); err == nil {
			v.target = targets[0]
		}
	}
	if err != nil {
		return version{}, nil, errors.Join(fmt.Errorf("find the subject at %s: %w", v.title, err), remove())
	}
	if isImage {
		v.target.Docker = &subject.Docker{Image: image}
	}
	return v, remove, nil
}

// compare starts upstream and makes the launches, whose raw files are temporary.
func compare(ctx context.Context, p project, e experiment.Experiment, versions map[string]version, host load.Host, k6 string, seed uint64, looks []int) (report *guard.Report, err error) {
	config, notes, err := loadConfig(p, host, k6)
	if err != nil {
		return nil, err
	}
	for _, note := range notes {
		progress(note)
	}
	raw, err := os.MkdirTemp("", "mcp-parity-guard-raw-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(raw)) }()

	g := guard.Config{Looks: looks, Seed: seed, Progress: os.Stderr}
	for _, w := range e.Workloads {
		g.Workloads = append(g.Workloads, w.Name)
	}
	const perPair = 4 // launches: one pair of base and head, one of base and base
	fewest, most := perPair*looks[0], perPair*looks[len(looks)-1]
	var round time.Duration
	for _, w := range e.Workloads {
		load := e.WorkloadOf(guard.Base, w.Name).Load
		round += time.Duration(load.Warmup + load.Duration)
	}
	progress(fmt.Sprintf("%d to %d launches of each workload: at least %s of load, and the starts of the server", fewest, most, time.Duration(fewest)*round))

	plan := stand.Plan{Backend: p.backend, Upstream: backend.Upstream(p.root)}
	plan.Upstream.CPUs = config.Budget.GeneratorCPUs
	err = stand.With(ctx, plan, func(ctx context.Context, s *stand.Stand) error {
		config.Upstream = s.Upstream
		for label, v := range versions {
			config.Services[label] = limited(backend.ServiceOf(v.target, s.Upstream.PeerURL()), config.Budget)
		}
		var capacity *result.Upstream
		if slices.ContainsFunc(e.Workloads, func(w experiment.Workload) bool { return w.CallsTool(stats.ToolCallingUpstream) }) {
			served, err := load.UpstreamCapacity(ctx, s.Upstream.URL())
			if err != nil {
				return err
			}
			capacity = &result.Upstream{CapacityPerSecond: served}
		}
		number := 0
		g.Launch = func(ctx context.Context, label, workload string) (guard.Launch, error) {
			number++
			l, err := config.Launch(ctx, e, experiment.Launch{Number: number, Subject: label, Workload: workload}, capacity, raw)
			if err != nil || len(l.Invalid) > 0 {
				return guard.Launch{Invalid: l.Invalid}, err
			}
			latency, err := callLatency(l, raw)
			return guard.Launch{Latency: latency}, err
		}
		report, err = guard.Run(ctx, g)
		return err
	})
	return report, err
}

// callLatency merges the latencies of the workload's calls in the window of a valid launch.
func callLatency(l result.Launch, raw string) (*hdrhistogram.Histogram, error) {
	var calls []*hdrhistogram.Histogram
	for _, o := range l.Operations {
		if !o.IsCall() {
			continue
		}
		h, err := stats.ReadHistogram(filepath.Join(raw, filepath.FromSlash(o.Histogram)), *l.Window)
		if err != nil {
			return nil, err
		}
		calls = append(calls, h)
	}
	return stats.Merge(calls)
}
