// Package gate proves that servers give equal answers: it sends vectors as raw HTTP and compares what comes back with the
// contract and with every other server.
package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-parity/mcp-parity/contract"
)

const (
	defaultWorkers = 4
	defaultTimeout = 30 * time.Second

	// maxFailures is after how many exchanges in a row without an answer a target is given up.
	maxFailures = 5
)

// Target is one running server.
type Target struct {
	// Name is the subject's name, with its variant: "go", "go/stateful".
	Name string
	// URL is the base of all paths: "http://127.0.0.1:8081".
	URL string
	// MCPPath is the path of the MCP endpoint; "" for /mcp.
	MCPPath string
	// Stateful means that the server gives sessions on revision 2025-11-25.
	Stateful bool
	// Profiles are the wire revisions that the server is asked in.
	Profiles []string
	// Headers are sent with every request, for instance to pass an authentication.
	Headers map[string]string

	version string // the protocol version that Detect found; "" for the newest that has initialize
}

func (t Target) mcpPath() string { return cmp.Or(t.MCPPath, mcpPath) }

func (t Target) checkProfiles() error {
	speaks := []string{contract.Revision20251125, contract.Revision20260728}
	if len(t.Profiles) == 0 {
		return fmt.Errorf("%s: has no profiles: give one or more of %s", t.Name, strings.Join(speaks, ", "))
	}
	for _, p := range t.Profiles {
		if !slices.Contains(speaks, p) {
			return fmt.Errorf("%s: the gate does not speak profile %q: use %s", t.Name, p, strings.Join(speaks, ", "))
		}
	}
	return nil
}

// Options of a check or a diff. The zero value is useful.
type Options struct {
	// Seed draws the nonces of the gate's own checks. It is shown in the report, so that a run can be repeated.
	Seed uint64
	// Workers is how many vectors are in flight on each target at a time; 0 for 4.
	Workers int
	// Timeout of one exchange; 0 for 30 s.
	Timeout time.Duration
	// Only says which vectors are sent, by name; nil for all.
	Only func(vector string) bool
	// All makes a diff send every vector, not only those that call tools that both targets have.
	All bool
	// Upstream is the state of the upstream service: "" for running, "stopped". A check sends the vectors that were
	// written for this state; Report.Merge puts the two halves together.
	Upstream string
	// Known are the differences that do not count.
	Known []contract.KnownDifference
	// Repeat returns the command that repeats one vector on one target; nil for none.
	Repeat func(target Target, vector string) string
	// Progress is told how many of a target's vectors are done; nil for no one. It is called from several goroutines.
	Progress func(target string, done, total int)
}

// only keeps the jobs that were asked for.
func (o Options) only(jobs []job) []job {
	if o.Only == nil {
		return jobs
	}
	return slices.DeleteFunc(jobs, func(j job) bool { return !o.Only(j.vector) })
}

// Check sends the vectors to every target and compares each answer with the expected one; what passes is then compared with
// the answer of the first target that passed, in what the expectation leaves open. An error means that the check could not be
// made; what is wrong with a target is in the report.
func Check(ctx context.Context, targets []Target, tools []contract.Tool, vectors []contract.Vector, opt Options) (*Report, error) {
	start := time.Now()
	if len(targets) == 0 {
		return nil, errors.New("no targets to check")
	}
	judge, err := newJudge(tools)
	if err != nil {
		return nil, err
	}
	if err := checkKnown(opt.Known, vectors); err != nil {
		return nil, err
	}
	if opt.Only != nil && !slices.ContainsFunc(names(vectors), opt.Only) {
		return nil, errors.New("no vector has a name that was asked for")
	}
	for _, v := range vectors {
		if err := checkExpected(v); err != nil {
			return nil, err
		}
	}
	for _, t := range targets {
		if err := t.checkProfiles(); err != nil {
			return nil, err
		}
	}
	runs := make([]*run, len(targets))
	for i, target := range targets {
		jobs := planVectors(target, vectors, opt)
		if opt.Upstream == "" {
			jobs = append(opt.only(builtIn(target, opt)), jobs...)
		}
		runs[i] = newRun(target, jobs, opt)
		runs[i].judge = judge.outcome
	}
	if err := runAll(ctx, runs); err != nil {
		return nil, err
	}

	report := NewReport(targets, opt)
	references := map[jobKey]reference{}
	for _, r := range runs {
		for i, job := range r.jobs {
			o := r.outcomes[i]
			if !o.sent {
				continue // the target was given up; reported below
			}
			if ref, ok := references[job.key()]; !ok && len(o.differences) == 0 {
				references[job.key()] = reference{r.target.Name, o.traces}
			} else if ok && len(o.differences) == 0 {
				o.differences = compareTraces(ref, o.traces, compareResults)
			}
			report.add(r.target, job, o)
		}
		report.addGivenUp(r)
	}
	report.Duration = time.Since(start)
	return report, nil
}

// jobKey says which answers of different targets belong together.
type jobKey struct{ vector, profile string }

// reference is the answer of the first target that passed a job.
type reference struct {
	target string
	traces [][]record
}

// compareTraces compares all answers of a job with the reference's.
func compareTraces(ref reference, traces [][]record, compare func(a, b record) findings) []Difference {
	var all []Difference
	for client, trace := range traces {
		for i, rec := range trace {
			for _, d := range compare(ref.traces[client][i], rec) {
				d.Other = ref.target
				all = append(all, atStep(d, i, len(trace)))
			}
		}
	}
	return unique(all)
}
