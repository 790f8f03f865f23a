package stand_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/stand"
	"github.com/mcp-parity/mcp-parity/internal/subject"
)

// recorder is a backend that starts nothing and writes down what it is asked for.
type recorder struct {
	fail string // the service whose start fails

	mu     sync.Mutex
	events []string
	env    map[string]map[string]string
}

func (r *recorder) note(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

func (*recorder) Name() string    { return "recorder" }
func (*recorder) Engine() string  { return "" }
func (*recorder) Notes() []string { return nil }
func (*recorder) Close() error    { return nil }

func (r *recorder) Build(_ context.Context, s backend.Service) error {
	r.note("build " + s.Name)
	return nil
}

func (r *recorder) Start(ctx context.Context, s backend.Service) (backend.Instance, error) {
	if s.Name == r.fail {
		time.Sleep(50 * time.Millisecond) // let the others start
		return nil, errors.New("no luck")
	}
	r.note("start " + s.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.env == nil {
		r.env = map[string]map[string]string{}
	}
	r.env[s.Name] = s.Env
	return &instance{recorder: r, name: s.Name}, nil
}

type instance struct {
	recorder *recorder
	name     string
}

func (i *instance) Name() string                                 { return i.name }
func (i *instance) URL() string                                  { return "http://" + i.name }
func (i *instance) PeerURL() string                              { return "http://peer." + i.name }
func (i *instance) LogPath() string                              { return "" }
func (i *instance) Image() string                                { return "" }
func (i *instance) ReadyAfter() time.Duration                    { return 0 }
func (i *instance) Usage(context.Context) (backend.Usage, error) { return backend.Usage{}, nil }

func (i *instance) Stop(ctx context.Context) (int, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	i.recorder.note("stop " + i.name)
	return 0, nil
}

func plan(r *recorder) stand.Plan {
	var targets []subject.Target
	for _, name := range []string{"a", "b"} {
		targets = append(targets, subject.Target{Subject: subject.Subject{Name: name}})
	}
	return stand.Plan{Backend: r, Upstream: backend.Service{Name: "upstream"}, Targets: targets}
}

// wantOrder checks that upstream starts before and stops after the servers, and that each is started and stopped once.
func wantOrder(t *testing.T, events []string, servers ...string) {
	t.Helper()
	want := []string{"start upstream"}
	for _, name := range servers {
		want = append(want, "start "+name, "stop "+name)
	}
	want = append(want, "stop upstream")
	got := slices.Clone(events)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("events are %s", strings.Join(events, ", "))
	}
	if events[0] != "start upstream" || events[len(events)-1] != "stop upstream" {
		t.Errorf("upstream is not the first to start and the last to stop: %s", strings.Join(events, ", "))
	}
}

func TestWith(t *testing.T) {
	r := &recorder{}
	err := stand.With(t.Context(), plan(r), func(_ context.Context, s *stand.Stand) error {
		if len(s.Servers) != 2 || s.Servers[0].ID() != "a" || s.Servers[0].URL() != "http://a" {
			t.Errorf("the servers are %v", s.Servers)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantOrder(t, r.events, "a", "b")
	if got := r.env["a"]["UPSTREAM_URL"]; got != "http://peer.upstream" {
		t.Errorf("UPSTREAM_URL is %q", got)
	}
}

func TestEverythingStopsAfterAnError(t *testing.T) {
	r := &recorder{}
	broken := errors.New("broken")
	if err := stand.With(t.Context(), plan(r), func(context.Context, *stand.Stand) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got error %v", err)
	}
	wantOrder(t, r.events, "a", "b")
}

func TestEverythingStopsAfterAFailedStart(t *testing.T) {
	r := &recorder{fail: "b"}
	err := stand.With(t.Context(), plan(r), func(context.Context, *stand.Stand) error {
		t.Error("used although a server did not start")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("got error %v", err)
	}
	wantOrder(t, r.events, "a")
}

func TestEverythingStopsAfterCancelling(t *testing.T) {
	r := &recorder{}
	ctx, cancel := context.WithCancel(t.Context())
	err := stand.With(ctx, plan(r), func(ctx context.Context, _ *stand.Stand) error {
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	wantOrder(t, r.events, "a", "b")
}
