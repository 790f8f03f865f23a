package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/metrics"
	"golang.org/x/sync/errgroup"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/histlog"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// histogramsEnv names the directory for the histograms. Without it none are kept.
const histogramsEnv = "K6_MCP_HISTOGRAMS"

// Closing the sessions that are open at the end of a run.
const (
	closeTimeout  = 5 * time.Second
	closeParallel = 32
)

// k6's global events. Their type is internal to k6, but untyped constants can be given for it.
const (
	eventTestEnd = 3
	eventExit    = 6
)

// run is what the VUs of a test run share. k6 has no hook for the end of a VU, and vu.Context() ends
// with every iteration, so sessions live here until the event that ends the test.
type run struct {
	once   sync.Once
	err    error // of once
	logger logrus.FieldLogger
	tags   *metrics.TagSet // of the whole run

	histograms atomic.Pointer[histlog.Recorder] // nil when none are wanted, and after the end
	dir        string                           // of the histograms
	dirFixed   bool                             // the environment has said so, and a script cannot say otherwise

	// pushing is held for reading while samples are sent, and for writing to set ended: k6 closes the
	// channel soon after.
	pushing sync.RWMutex
	ended   bool

	tokens *wire.Tokens // of all clients with client credentials
	auth   func(took time.Duration, err error)

	methods, tools, prompts, resources valueLimit

	mu         sync.Mutex
	open       map[*session]struct{}
	attached   map[*session]struct{} // with streams; opened elsewhere, and not to be ended at the server
	streams    int
	transports []*http.Transport
}

func newRun() *run {
	r := &run{open: map[*session]struct{}{}, attached: map[*session]struct{}{}}
	r.tokens = wire.NewTokens(func(took time.Duration, err error) {
		r.mu.Lock()
		auth := r.auth
		r.mu.Unlock()
		if auth != nil {
			auth(took, err)
		}
	})
	return r
}

// observeAuth counts the fetching of tokens, which belongs to no VU, with the tags of the run.
func (r *run) observeAuth(c *client, sc scene) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.auth != nil {
		return
	}
	tags := r.tags.WithTagsFromMap(sc.state.Options.RunTags)
	r.auth = func(took time.Duration, err error) {
		c.count(sc.state, tags.With("expected_response", strconv.FormatBool(err == nil)), c.mi.metrics.authDuration, metrics.D(took))
	}
}

// bounded limits the values of the tags that scripts and servers choose.
func (r *run) bounded(a about) about {
	known := &r.resources
	switch a.method {
	case "tools/call":
		known = &r.tools
	case "prompts/get":
		known = &r.prompts
	}
	return about{method: r.methods.bounded(a.method), name: known.bounded(a.name)}
}

// begin prepares the run when the first VU is made.
func (r *run) begin(vu modules.VU) error {
	r.once.Do(func() { r.err = r.prepare(vu) })
	return r.err
}

func (r *run) prepare(vu modules.VU) error {
	env := vu.InitEnv()
	r.logger = env.Logger
	r.tags = env.Registry.RootTagSet()
	if env.LookupEnv != nil {
		if dir, _ := env.LookupEnv(histogramsEnv); dir != "" {
			if err := r.keepHistograms(dir); err != nil {
				return fmt.Errorf("%s: %w", histogramsEnv, err)
			}
			r.dirFixed = true
		}
	}
	if global := vu.Events().Global; global != nil { // there is none in tests of modules
		_, events := global.Subscribe(eventTestEnd, eventExit)
		go func() {
			for e := range events {
				if e.Type == eventTestEnd {
					r.end()
				}
				e.Done()
				if e.Type == eventExit {
					return
				}
			}
		}()
	}
	return nil
}

// keepHistograms makes the run keep histograms and write them to a directory. The environment wins over a script, as
// everywhere in k6, so that processes that run the same script can have a directory each.
func (r *run) keepHistograms(dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.dirFixed, dir == r.dir:
		return nil
	case r.dir != "":
		return fmt.Errorf("the histograms go to %q already: all clients of a script share one directory", r.dir)
	}
	recorder, err := histlog.Start(dir)
	if err != nil {
		return err
	}
	r.dir = dir
	r.histograms.Store(recorder)
	return nil
}

// end closes what is open, writes the histograms, and lets no sample through any more.
func (r *run) end() {
	r.mu.Lock()
	open := make([]*session, 0, len(r.open))
	for s := range r.open {
		open = append(open, s)
	}
	r.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(closeParallel)
	for _, s := range open {
		group.Go(func() error {
			s.end(func() { s.closeWire(ctx, wire.Options{Timeout: closeTimeout}) })
			return nil
		})
	}
	_ = group.Wait() // a session that could not be closed has been logged
	r.mu.Lock()
	attached := r.attached
	r.mu.Unlock()
	for s := range attached {
		s.wire.Abandon()
	}

	r.pushing.Lock()
	r.ended = true
	r.pushing.Unlock()

	r.mu.Lock()
	for _, t := range r.transports {
		t.CloseIdleConnections()
	}
	r.mu.Unlock()

	if histograms := r.histograms.Swap(nil); histograms != nil {
		if err := histograms.Close(); err != nil {
			r.logger.WithError(err).Error("the MCP histograms could not be written")
		}
	}
}

// abandonAtEnd makes the run end the streams of a session that is not its own.
func (r *run) abandonAtEnd(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attached[s] = struct{}{}
}

// own makes the run close a VU's idle connections at its end.
func (r *run) own(t *http.Transport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.transports = append(r.transports, t)
}

// push sends samples unless their iteration or the run is over.
func (r *run) push(ctx context.Context, out chan<- metrics.SampleContainer, samples metrics.SampleContainer) {
	r.pushing.RLock()
	defer r.pushing.RUnlock()
	if !r.ended {
		metrics.PushIfNotDone(ctx, out, samples)
	}
}

// opened and closed keep the number of open sessions. The sample is sent under the lock, so that the
// last one is true.
func (r *run) opened(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[s] = struct{}{}
	r.pushOpen(s)
}

// closed reports whether the session was open until now.
func (r *run) closed(s *session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.open[s]; !ok {
		return false
	}
	delete(r.open, s)
	r.pushOpen(s)
	return true
}

func (r *run) pushOpen(s *session) {
	s.client.count(s.state, r.tags.WithTagsFromMap(s.state.Options.RunTags), s.client.mi.metrics.sessionsOpen, float64(len(r.open)))
}

// streaming counts a stream that was opened or has ended.
func (r *run) streaming(s *session, change int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams += change
	s.client.count(s.state, r.tags.WithTagsFromMap(s.state.Options.RunTags), s.client.mi.metrics.streamsOpen, float64(r.streams))
}
