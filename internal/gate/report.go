package gate

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mcp-parity/mcp-parity/contract"
)

// Aspect is the part of an answer that differs.
type Aspect string

// The aspects. Pointers are relative to the value that is named here.
const (
	AspectTransport  Aspect = "transport"         // no complete answer came
	AspectSession    Aspect = "session"           // no session could be begun
	AspectStatus     Aspect = "status"            // HTTP status
	AspectHeaders    Aspect = "headers"           // response header; the pointer is its name
	AspectBody       Aspect = "body"              // body of an HTTP answer, or JSON that cannot be read
	AspectClass      Aspect = "class"             // result, tool error, protocol error or neither
	AspectMessage    Aspect = "message"           // the JSON-RPC response around its result
	AspectID         Aspect = "id"                // the JSON-RPC response
	AspectCode       Aspect = "code"              // the JSON-RPC response
	AspectResult     Aspect = "result"            // the result member
	AspectStructured Aspect = "structuredContent" // of a tool's result
	AspectContent    Aspect = "content"           // of a tool's result; below /0/text, the pointer goes on in the JSON that the text holds
	AspectSchema     Aspect = "schema"            // structuredContent against outputSchema
	AspectTiming     Aspect = "timing"            // too early, or one after the other
	AspectExit       Aspect = "exit"              // how the server's process ended
)

// Difference is one place where a target differs from the contract or from another target.
type Difference struct {
	// Target is the name of the target that differs.
	Target string
	// Other is the name of the target that it differs from; "" for the contract.
	Other   string
	Vector  string
	Profile string
	// Step counts from 1 in a vector of several steps; 0 in one of one step.
	Step   int
	Aspect Aspect
	// Pointer is a JSON pointer (RFC 6901) to the place, see Aspect; "" for the whole.
	Pointer   string
	Want, Got string
	// Repeat is the command that repeats the vector; "" if the caller gave none.
	Repeat string
	// Known is the entry of the list of known differences that it matches; nil for none.
	Known *contract.KnownDifference
}

func (d Difference) String() string {
	var b strings.Builder
	if d.Step > 0 {
		fmt.Fprintf(&b, "step %d: ", d.Step)
	}
	b.WriteString(string(d.Aspect))
	if d.Pointer != "" {
		b.WriteString(" " + d.Pointer)
	}
	other := d.Other
	if other == "" {
		other = "contract"
	}
	fmt.Fprintf(&b, ": wanted %s, got %s   (%s)", d.Want, d.Got, other)
	return b.String()
}

// Result is what became of one vector on one target and wire revision.
type Result struct {
	Target   string
	Vector   string
	Profile  string
	Duration time.Duration
	// Differences are all that were found, known ones included.
	Differences []Difference
}

// Failed reports whether there is a difference that is not known.
func (r Result) Failed() bool {
	return slices.ContainsFunc(r.Differences, func(d Difference) bool { return d.Known == nil })
}

// Report is the outcome of a check or a diff.
type Report struct {
	Seed     uint64
	Duration time.Duration
	// Targets are the names of all that were asked, in order.
	Targets []string
	// Results are ordered by target, then as the vectors were given.
	Results []Result

	opt   Options
	known []knownUse
}

// NewReport returns a report without results, to which others are merged.
func NewReport(targets []Target, opt Options) *Report {
	r := &Report{Seed: opt.Seed, opt: opt, known: knownUses(opt.Known)}
	for _, t := range targets {
		r.Targets = append(r.Targets, t.Name)
	}
	return r
}

// Add takes over what the caller found by a check of its own, under a name like a vector's.
func (r *Report) Add(target Target, name string, differences ...Difference) {
	r.add(target, job{vector: name}, outcome{differences: differences})
}

// add takes over the outcome of a job.
func (r *Report) add(target Target, j job, o outcome) {
	result := Result{Target: target.Name, Vector: j.vector, Profile: j.profile, Duration: o.elapsed, Differences: o.differences}
	r.complete(target, &result)
	r.mark(&result)
	r.Results = append(r.Results, result)
}

// addGivenUp reports a target that stopped answering.
func (r *Report) addGivenUp(run *run) {
	if !run.givenUp.Load() {
		return
	}
	unsent := 0
	for _, o := range run.outcomes {
		if !o.sent {
			unsent++
		}
	}
	result := Result{Target: run.target.Name, Vector: GivenUp, Differences: []Difference{{
		Aspect: AspectTransport,
		Want:   "answers",
		Got:    fmt.Sprintf("none to %d vectors in a row, the last: %v; %d more were not sent", maxFailures, run.last.Load(), unsent),
	}}}
	r.complete(run.target, &result)
	r.Results = append(r.Results, result)
}

// complete says in every difference where it was found.
func (r *Report) complete(target Target, result *Result) {
	for i := range result.Differences {
		d := &result.Differences[i]
		d.Target, d.Vector, d.Profile = result.Target, result.Vector, result.Profile
		if r.opt.Repeat != nil {
			d.Repeat = r.opt.Repeat(target, result.Vector)
		}
	}
}

// Merge adds the results of another check of the same targets, for instance with the upstream service stopped. Its list of
// known differences is the same or empty.
func (r *Report) Merge(other *Report) {
	r.Duration += other.Duration
	r.Results = append(r.Results, other.Results...)
	r.sort()
	for i := range other.known {
		r.known[i].ran = r.known[i].ran || other.known[i].ran
		r.known[i].matched = r.known[i].matched || other.known[i].matched
	}
}

// sort puts results of the same target together.
func (r *Report) sort() {
	slices.SortStableFunc(r.Results, func(a, b Result) int {
		return slices.Index(r.Targets, a.Target) - slices.Index(r.Targets, b.Target)
	})
}

// OK reports whether something was sent, every difference is known and every known difference still shows.
func (r *Report) OK() bool {
	return len(r.Results) > 0 && !slices.ContainsFunc(r.Results, Result.Failed) && len(r.Stale()) == 0
}

// Counts says how many vectors went how, a vector counting once for each wire revision.
type Counts struct{ Vectors, Passed, Failed, Known int }

// Counts returns the counts of one target.
func (r *Report) Counts(target string) Counts {
	var c Counts
	for _, result := range r.Results {
		if result.Target != target {
			continue
		}
		c.Vectors++
		switch {
		case result.Failed():
			c.Failed++
		case len(result.Differences) > 0:
			c.Known++
		default:
			c.Passed++
		}
	}
	return c
}

// Differences returns all differences, known ones included.
func (r *Report) Differences() []Difference {
	var all []Difference
	for _, result := range r.Results {
		all = append(all, result.Differences...)
	}
	return all
}

// maxLines is how many differences of one vector are printed; a missing row can make a thousand. JUnit has them all.
const maxLines = 20

// WriteText writes the report for people: each failure with all that differs and the command that repeats it, then the
// counts, then the verdict.
func (r *Report) WriteText(w io.Writer) error {
	out := &errWriter{w: w}
	for _, result := range r.Results {
		if !result.Failed() {
			continue
		}
		out.printf("FAIL %s\n", strings.TrimRight(result.Target+"  "+result.Vector+"  "+result.Profile, " "))
		for i, d := range result.Differences {
			if i == maxLines {
				out.printf("     and %d more\n", len(result.Differences)-i)
				break
			}
			known := ""
			if d.Known != nil {
				known = " known"
			}
			out.printf("     %s%s\n", d, known)
		}
		if repeat := result.Differences[0].Repeat; repeat != "" {
			out.printf("     repeat: %s\n", repeat)
		}
	}
	stale := r.Stale()
	for _, s := range stale {
		out.printf("STALE %s\n", s)
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	var sum Counts
	fmt.Fprintln(table, "vectors\tpassed\tfailed\tknown\t server")
	for _, target := range r.Targets {
		c := r.Counts(target)
		sum = Counts{sum.Vectors + c.Vectors, sum.Passed + c.Passed, sum.Failed + c.Failed, sum.Known + c.Known}
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t %s\n", c.Vectors, c.Passed, c.Failed, c.Known, target)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	verdict := "EQUAL"
	switch {
	case len(r.Results) == 0:
		verdict = "NOTHING SENT (no vector fits the names, profiles and session modes)"
	case !r.OK():
		verdict = "DIFFERENT"
	}
	out.printf("seed %d, %v\n", r.Seed, r.Duration.Round(10*time.Millisecond))
	out.printf("%s: %d passed, %d failed, %d known differences, %d stale entries\n", verdict, sum.Passed, sum.Failed, sum.Known, len(stale))
	return out.err
}

// errWriter keeps the first error, so that it is checked once.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) Write(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	n, err := e.w.Write(p)
	e.err = err
	return n, err
}

func (e *errWriter) printf(format string, args ...any) { fmt.Fprintf(e, format, args...) }

// atStep notes in which of the steps, counted from 0, the difference was found.
func atStep(d Difference, step, of int) Difference {
	if of > 1 {
		d.Step = step + 1
	}
	return d
}

// unique drops differences that several clients found alike.
func unique(all []Difference) []Difference {
	seen := map[Difference]bool{}
	return slices.DeleteFunc(all, func(d Difference) bool {
		again := seen[d]
		seen[d] = true
		return again
	})
}
