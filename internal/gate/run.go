package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-parity/mcp-parity/contract"
)

// job is a vector on one wire revision.
type job struct {
	vector  string
	profile string
	// session is as in contract.Vector.
	session string
	// scripts are the steps of each client; the clients begin at the same moment and use the same request ids.
	scripts [][]contract.Step
	minimum time.Duration // of each answer
}

func (j job) key() jobKey { return jobKey{j.vector, j.profile} }

// exclusive jobs measure time and are not mixed with others.
func (j job) exclusive() bool { return j.minimum > 0 && len(j.scripts) > 1 }

// planVectors lists the vectors that are sent to the target, in order.
func planVectors(target Target, vectors []contract.Vector, opt Options) []job {
	var jobs []job
	for _, v := range vectors {
		sessions := "stateless"
		if target.Stateful {
			sessions = "stateful"
		}
		if v.Upstream != opt.Upstream || v.Sessions != "" && v.Sessions != sessions {
			continue
		}
		for _, profile := range target.Profiles {
			if len(v.Profiles) > 0 && !slices.Contains(v.Profiles, profile) {
				continue
			}
			jobs = append(jobs, job{
				vector:  v.Name,
				profile: profile,
				session: v.Session,
				scripts: slices.Repeat([][]contract.Step{v.AllSteps()}, max(1, v.Parallel)),
				minimum: time.Duration(v.MinMS) * time.Millisecond,
			})
		}
	}
	return opt.only(jobs)
}

// record is one exchange.
type record struct {
	request request
	reply   reply
}

// outcome is what became of a job.
type outcome struct {
	sent        bool
	traces      [][]record // of each client, each step
	elapsed     time.Duration
	differences []Difference
}

// run is all that is sent to one target.
type run struct {
	target   Target
	jobs     []job
	outcomes []outcome
	judge    func(job, *outcome) // nil when answers are compared later
	opt      Options

	wire     *wire
	done     atomic.Int64
	failures atomic.Int64 // exchanges in a row without an answer
	givenUp  atomic.Bool
	last     atomic.Value // string: the last failure
}

func newRun(target Target, jobs []job, opt Options) *run {
	return &run{
		target:   target,
		jobs:     jobs,
		outcomes: make([]outcome, len(jobs)),
		opt:      opt,
		wire:     newWire(target, cmp.Or(opt.Timeout, defaultTimeout)),
	}
}

// runAll sends all jobs to all targets: first those that may be mixed, then, when every target is at rest, one by one
// those that measure time.
func runAll(ctx context.Context, runs []*run) error {
	for _, r := range runs {
		for _, j := range r.jobs {
			for _, step := range slices.Concat(j.scripts...) {
				if _, err := (sender{profile: j.profile}).build(step, 0); err != nil {
					return fmt.Errorf("vector %s: %w", j.vector, err)
				}
			}
		}
	}
	for _, exclusive := range []bool{false, true} {
		var wg sync.WaitGroup
		for _, r := range runs {
			wg.Go(func() { r.phase(ctx, exclusive) })
		}
		wg.Wait()
	}
	for _, r := range runs {
		r.wire.close()
	}
	return context.Cause(ctx)
}

func (r *run) phase(ctx context.Context, exclusive bool) {
	workers := cmp.Or(r.opt.Workers, defaultWorkers)
	if exclusive {
		workers = 1
	}
	queue := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			w := worker{run: r, shared: map[string]*client{}}
			for i := range queue {
				w.do(ctx, r.jobs[i], &r.outcomes[i])
				if done := int(r.done.Add(1)); r.opt.Progress != nil {
					r.opt.Progress(r.target.Name, done, len(r.jobs))
				}
			}
			for _, c := range w.shared {
				c.end(ctx)
			}
		})
	}
	for i, j := range r.jobs {
		if j.exclusive() == exclusive && !r.givenUp.Load() && ctx.Err() == nil {
			queue <- i
		}
	}
	close(queue)
	wg.Wait()
}

// worker runs one job at a time, on sessions that it keeps.
type worker struct {
	run    *run
	shared map[string]*client // by profile
}

func (w *worker) do(ctx context.Context, j job, o *outcome) {
	if w.run.givenUp.Load() {
		return
	}
	o.sent = true
	start := time.Now()
	err := w.exchange(ctx, j, o)
	o.elapsed = time.Since(start)
	if err != nil {
		o.differences = []Difference{failure(err)}
		w.run.last.Store(err.Error())
		if w.run.failures.Add(1) >= maxFailures {
			w.run.givenUp.Store(true)
		}
		return
	}
	w.run.failures.Store(0)
	if w.run.judge != nil {
		w.run.judge(j, o)
	}
	for _, trace := range o.traces { // what is kept is the parsed message
		for i := range trace {
			trace[i].request.body = nil
			if trace[i].reply.message != nil {
				trace[i].reply.body, trace[i].reply.replies = nil, nil
			}
		}
	}
}

// exchange sends a job's steps, all clients at once.
func (w *worker) exchange(ctx context.Context, j job, o *outcome) error {
	sessions := w.run.target.Stateful && j.profile == contract.Revision20251125
	clients := make([]*client, len(j.scripts))
	for i := range clients {
		if len(clients) == 1 && (j.session == "" || j.session == "shared") {
			c, err := w.sharedClient(ctx, j.profile, sessions)
			if err != nil {
				return err
			}
			clients[i] = c
			continue
		}
		c := newClient(w.run.wire, j.profile)
		clients[i] = c
		if sessions && j.session != "none" {
			if err := c.open(ctx); err != nil {
				return err
			}
		}
		defer c.end(ctx)
	}

	o.traces = make([][]record, len(clients))
	errs := make([]error, len(clients))
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			<-begin
			o.traces[i], errs[i] = c.play(ctx, j.scripts[i])
		})
	}
	close(begin)
	wg.Wait()
	return errors.Join(errs...)
}

// sharedClient returns the worker's own client of the profile, with a live session where there are sessions.
func (w *worker) sharedClient(ctx context.Context, profile string, sessions bool) (*client, error) {
	c := w.shared[profile]
	if c == nil {
		c = newClient(w.run.wire, profile)
		w.shared[profile] = c
	}
	if sessions && c.session == "" {
		return c, c.open(ctx)
	}
	return c, nil
}

// play sends steps in order.
func (c *client) play(ctx context.Context, steps []contract.Step) ([]record, error) {
	trace := make([]record, len(steps))
	for i, step := range steps {
		from := c.sender
		initialize := step.RPC != nil && step.RPC.Method == "initialize"
		if initialize {
			from.session = ""
		}
		req, err := from.build(step, c.nextID())
		if err != nil {
			return nil, err
		}
		a, err := c.wire.send(ctx, req)
		if err != nil {
			return nil, &stepError{step: i, of: len(steps), err: err}
		}
		trace[i] = record{req, read(a)}
		if made := a.header.Get("Mcp-Session-Id"); initialize && made != "" {
			other := *c
			other.session = made
			other.end(ctx)
		}
		if a.status == http.StatusNotFound && req.mcp() && from.session != "" && req.header.Get("Mcp-Session-Id") == from.session {
			c.session = "" // it is gone: whoever shares it needs a new one
		}
	}
	return trace, nil
}

// stepError is an exchange that got no answer.
type stepError struct {
	step, of int // from 0
	err      error
}

func (e *stepError) Error() string { return e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// failure turns an error of an exchange into a difference.
func failure(err error) Difference {
	var noSession *noSessionError
	if errors.As(err, &noSession) {
		return Difference{Aspect: AspectSession, Want: "a session from initialize and notifications/initialized", Got: noSession.reply.describe()}
	}
	d := Difference{Aspect: AspectTransport, Want: "an answer", Got: err.Error()}
	var at *stepError
	if errors.As(err, &at) {
		d = atStep(d, at.step, at.of)
		d.Got = at.err.Error()
	}
	return d
}
