package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/progress"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
	"github.com/mcp-parity/mcp-parity/internal/stats/statstest"
	"github.com/mcp-parity/mcp-parity/internal/verify"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

// TestMain lets this test's binary stand in for k6: it is called so through a link of that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "k6" {
		fakeK6()
		return
	}
	os.Setenv("K6_VUS", "7") // must not reach k6
	os.Exit(m.Run())
}

// The fake servers answer fakeRate calls a second of a closed load, "slow" slowRate, which keeps up with slowLimit of an open one.
const (
	fakeRate  = 100
	slowRate  = 8
	slowLimit = 3
)

// script is what the fake k6 is told to load by.
type script struct {
	fakeTB
	shape, fault     string
	users, rate      int
	duration         time.Duration
	calls            []experiment.Call
	expected         []json.RawMessage
	sessions, folder string
}

// fakeTB is the test of the process that stands in for k6.
type fakeTB struct{ testing.TB }

func (fakeTB) Helper() {}

func (fakeTB) Fatal(args ...any) {
	fmt.Println(args...)
	os.Exit(1)
}

// readScript reads the command line and the environment as closed.js and open.js do, and is as strict.
func readScript() script {
	var s script
	if len(os.Args) < 3 || os.Args[1] != "run" || os.Getenv("K6_VUS") != "" {
		s.Fatal("wrong command line or environment", os.Args, os.Environ())
	}
	whole := func(name string) int {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil || n < 1 {
			s.Fatal(name, "is", os.Getenv(name))
		}
		return n
	}
	length := func(name string) time.Duration {
		d, err := time.ParseDuration(os.Getenv(name))
		if err != nil {
			s.Fatal(name, err)
		}
		return d
	}
	switch filepath.Base(os.Args[len(os.Args)-1]) {
	case "closed.js":
		s.shape = experiment.ShapeClosed
		length("RAMP")
		length("SLEEP")
	case "open.js":
		s.shape, s.rate = experiment.ShapeOpen, whole("RATE")
	default:
		s.Fatal("unknown script", os.Args)
	}
	s.users, s.duration = whole("USERS"), length("DURATION")
	whole("SAMPLE")
	for name, to := range map[string]any{"CALLS": &s.calls, "EXPECTED": &s.expected} {
		if err := json.Unmarshal([]byte(os.Getenv(name)), to); err != nil {
			s.Fatal(name, err)
		}
	}
	if s.calls == nil || len(s.calls) != len(s.expected) || os.Getenv("REVISION") != "2025-11-25" {
		s.Fatal("wrong environment", os.Environ())
	}
	s.fault = strings.TrimSuffix(strings.TrimPrefix(os.Getenv("MCP_URL"), fakeBase), "/mcp")
	s.sessions, s.folder = os.Getenv("SESSIONS"), os.Getenv("K6_MCP_HISTOGRAMS")
	return s
}

// fakeK6 takes the same input as k6 with a script and leaves the same output, without a server: calls of 1 ms. What goes wrong is chosen by
// the path of the URL's server name: see fakeBackend.
func fakeK6() {
	s := readScript()
	fmt.Println("fake k6:", s.fault)
	switch s.fault {
	case "hangs":
		time.Sleep(time.Hour)
	case "crashes":
		os.Exit(107)
	}
	load := statstest.Load{Start: time.Now()}
	time.Sleep(s.duration)
	load.Length = time.Since(load.Start)

	rate, latency := s.rate, int64(1000)
	switch {
	case s.shape == experiment.ShapeClosed && s.fault == "slow":
		rate = slowRate
	case s.shape == experiment.ShapeClosed:
		rate = fakeRate
	case s.fault == "slow" && rate > slowLimit:
		latency = 80_000
	}
	for i, call := range s.calls {
		one := statstest.Series{Series: stats.Series{Method: "tools/call", Tool: call.Tool}, Durations: statstest.Steady(rate, latency)}
		if call.Method != "" {
			one.Method = call.Method
		}
		if s.shape == experiment.ShapeOpen && i == 0 {
			one.Responses, one.Lags = one.Durations, statstest.Steady(rate, 10)
		}
		if s.fault == "wrong" {
			one.Wrong, one.FirstWrong = 3, "/result: want "+string(s.expected[i])+", got 0"
		}
		load.Series = append(load.Series, one)
	}
	handshakes := statstest.Steady(rate, latency)
	if s.sessions == experiment.SessionsPerUser {
		handshakes = func(second int) []int64 { return make([]int64, s.users)[:s.users*max(0, 1-second)] }
	}
	for _, method := range []string{"initialize", "notifications/initialized"} {
		load.Series = append(load.Series, statstest.Series{Series: stats.Series{Method: method}, Durations: handshakes})
	}
	load.Write(s.fakeTB, s.folder)
}

// fakeHost starts k6 wherever the system likes.
type fakeHost struct{ Host }

func (fakeHost) StartCommand(cmd *exec.Cmd, _ []int) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}

// fakeBackend starts servers that use half a CPU and 10 MB. A server's name is its fault: "wrong", "crashes" and "hangs" are k6's,
// "does-not-start" and "exits-1" the server's own; the usage of "reads-rarely" is up to 250 ms old; "slow" is; others have none.
type fakeBackend struct {
	mu      sync.Mutex
	started []string
	running int
	dir     string
}

func (b *fakeBackend) Name() string                                 { return backend.KindDocker }
func (b *fakeBackend) Engine() string                               { return "1.2.3" }
func (b *fakeBackend) Notes() []string                              { return nil }
func (b *fakeBackend) Build(context.Context, backend.Service) error { return nil }
func (b *fakeBackend) Close() error                                 { return nil }

func (b *fakeBackend) Start(_ context.Context, s backend.Service) (backend.Instance, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = append(b.started, s.Name)
	log := filepath.Join(b.dir, s.Name+".log")
	if err := os.WriteFile(log, []byte("log of "+s.Name+"\n"), 0o644); err != nil {
		return nil, err
	}
	if s.Name == "does-not-start" {
		return nil, &backend.Failure{Err: errors.New("it exited with 2"), LogPath: log, Tail: "    log of it"}
	}
	b.running++
	return &fakeInstance{backend: b, name: s.Name, log: log, start: time.Now()}, nil
}

// fakeBase is where nobody listens.
const fakeBase = "http://127.0.0.1:1/"

type fakeInstance struct {
	backend        *fakeBackend
	name, log, url string
	start          time.Time
}

func (i *fakeInstance) Name() string              { return i.name }
func (i *fakeInstance) PeerURL() string           { return i.URL() }
func (i *fakeInstance) LogPath() string           { return i.log }
func (i *fakeInstance) Image() string             { return "sha256:" + i.name }
func (i *fakeInstance) ReadyAfter() time.Duration { return 250 * time.Millisecond }

func (i *fakeInstance) URL() string {
	if i.url != "" {
		return i.url
	}
	return fakeBase + i.name
}

func (i *fakeInstance) Usage(context.Context) (backend.Usage, error) {
	now := time.Now()
	if i.name == "reads-rarely" { // like a container engine
		now = i.start.Add(now.Sub(i.start).Truncate(250 * time.Millisecond))
	}
	return backend.Usage{At: now, CPU: now.Sub(i.start) / 2, Memory: 10e6, PeakMemory: 12e6}, nil
}

func (i *fakeInstance) Stop(context.Context) (int, error) {
	i.backend.mu.Lock()
	defer i.backend.mu.Unlock()
	i.backend.running--
	if i.name == "exits-1" {
		return 1, nil
	}
	return 0, nil
}

// bench is what a test runs on.
type bench struct {
	Config
	fake     *fakeBackend
	results  string
	progress bytes.Buffer
}

func newBench(t *testing.T, names ...string) *bench {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k6 := filepath.Join(t.TempDir(), "k6")
	if err := os.Symlink(self, k6); err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/items/1" {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(upstream.Close)
	fake := &fakeBackend{dir: t.TempDir()}
	began := time.Now()
	b := &bench{fake: fake, results: filepath.Join(t.TempDir(), "results"), Config: Config{
		Backend: fake, Services: map[string]backend.Service{}, Host: fakeHost{}, K6: k6, Root: "root",
		// It uses a tenth of a CPU, beside the half of a server.
		Upstream: &fakeInstance{backend: fake, name: "upstream", url: upstream.URL, start: began},
		Budget:   result.Budget{ServerCPUs: []int{1}, GeneratorCPUs: []int{0}},
		Oracle: func(string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"n":3,"result":2}`), nil
		},
		cpuTimes: func(context.Context) (time.Duration, time.Duration, error) { return time.Since(began), 0, nil },
	}}
	for _, name := range names {
		b.Services[name] = backend.Service{Name: name}
	}
	return b
}

const second = yamlfile.Duration(time.Second)

// workload is one of the subjects, which are loaded once with a closed load for as short a time as gives a window.
func workload(name string, calls []experiment.Call, subjects ...string) experiment.Workload {
	return experiment.Workload{
		Name: name, Subjects: subjects, Reference: subjects[0], Launches: 1, Revision: "2025-11-25", Sessions: experiment.SessionsPerUser,
		Calls: calls, Load: experiment.Load{Shape: experiment.ShapeClosed, Users: 2, Duration: second},
	}
}

var (
	list  = []experiment.Call{{Method: experiment.MethodListTools}}
	fib   = []experiment.Call{{Tool: "calculate_fibonacci", Arguments: map[string]any{"n": 3}}}
	fetch = []experiment.Call{{Tool: stats.ToolCallingUpstream, Arguments: map[string]any{"endpoint": "/items/1"}}}
)

// newRun is a run of the workloads that has no launch.
func (b *bench) newRun(workloads ...experiment.Workload) *result.Run {
	e := experiment.Experiment{Name: "tiny", Title: "Tiny", Scale: 1, Workloads: workloads}
	for _, w := range workloads {
		for _, id := range w.Subjects {
			if !slices.Contains(e.Subjects, id) {
				e.Subjects = append(e.Subjects, id)
			}
		}
	}
	run := &result.Run{
		SchemaVersion: result.SchemaVersion, ID: "2026-10-01-tiny-000000", StartedAt: time.Now().UTC(), Command: "parity run tiny", Seed: 1,
		Experiment: e, Gate: result.Gate{Vectors: 10, Seed: 1}, Budget: b.Budget, Notes: []string{"A note."},
		Environment: result.Environment{CPUModel: "x", CPUs: 2, OS: "linux", Arch: "amd64", Go: "go1.26", K6: "v2", Backend: "docker", Engine: "1.2.3"},
	}
	for _, id := range e.Subjects {
		run.Subjects = append(run.Subjects, result.Subject{
			ID: id, Title: id, Language: result.Version{Name: "Go", Version: "1"}, SDK: result.Version{Name: "sdk", Version: "1"},
		})
	}
	return run
}

// run makes the launches of the run.
func (b *bench) run(ctx context.Context, t *testing.T, run *result.Run) (folder string, err error) {
	t.Helper()
	files, err := result.NewFolder(b.results, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	return Run(ctx, b.Config, run, files, progress.Plain(&b.progress))
}

func TestRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, "good", "reads-rarely")
	open := workload("fetch", fetch, "good")
	open.Load.Shape, open.Load.Rate = experiment.ShapeOpen, 50
	sessions := workload("sessions", []experiment.Call{}, "good")
	sessions.Sessions = experiment.SessionsPerCall
	run := b.newRun(workload("both", slices.Concat(list, fib), "good", "reads-rarely"), open, sessions)
	run.Experiment.Warmups = map[string]yamlfile.Duration{"reads-rarely": 2 * second}
	folder, err := b.run(t.Context(), t, run)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Cells) != 4 || run.Status != result.Complete {
		t.Fatalf("got %d cells of a %s run, wanted 4 of a complete one", len(run.Cells), run.Status)
	}
	for _, l := range run.Launches {
		if warm := l.Warmup.Seconds; (warm >= 2) != (l.Subject == "reads-rarely") {
			t.Errorf("%s under %s: the window begins after %v s; only reads-rarely needs 2 s", l.Subject, l.Workload, warm)
		}
	}
	for _, cell := range run.Cells {
		f := cell.Figures
		if f == nil {
			t.Fatalf("%s %s is invalid: %q", cell.Subject, cell.Workload, cell.Invalid)
		}
		calls, iterations := 0.0, float64(fakeRate)
		switch cell.Workload {
		case "both":
			calls = 2 * fakeRate
		case "fetch":
			calls, iterations = 50, 50
		}
		if f.CallsPerSecond.Value != calls || f.IterationsPerSecond.Value != iterations {
			t.Errorf("%s %s: %v calls/s, %v iterations/s, wanted %v and %v",
				cell.Subject, cell.Workload, f.CallsPerSecond.Value, f.IterationsPerSecond.Value, calls, iterations)
		}
		if share := f.CPUShare.Value; share < 0.49 || share > 0.51 {
			t.Errorf("%s %s: used %v CPUs, wanted 0.5", cell.Subject, cell.Workload, share)
		}
		if f.MemoryIdle.Value != 10e6 || f.MemoryPeak.Value != 12e6 {
			t.Errorf("%s %s: got %v and %v bytes, wanted 10 and 12 MB", cell.Subject, cell.Workload, f.MemoryIdle.Value, f.MemoryPeak.Value)
		}
	}
	made := len(run.Experiment.Plan(run.Seed))
	if len(b.fake.started) != made || len(run.Launches) != made || b.fake.running != 0 {
		t.Errorf("%d starts, %d launches, %d left running, wanted %d, %d and 0", len(b.fake.started), len(run.Launches), b.fake.running, made, made)
	}
	for i, l := range run.Launches {
		if l.ReadySeconds != 0.25 || !l.StartedAt.Before(l.EndedAt) || i > 0 && l.StartedAt.Before(run.Launches[i-1].EndedAt) {
			t.Errorf("launch %d: ready after %v s, from %v to %v", l.Number, l.ReadySeconds, l.StartedAt, l.EndedAt)
		}
		// Upstream and the server use half a CPU each, and the machine has one in use in all.
		if used := l.Generator.UpstreamCPUSeconds / l.Window.Seconds(); used < 0.49 || used > 0.51 || l.Machine.Other > 0.01 {
			t.Errorf("launch %d: upstream used %v CPUs, others %v", l.Number, used, l.Machine.Other)
		}
	}
	if run.Upstream == nil || run.Upstream.CapacityPerSecond < 100 || run.Upstream.FastestSubject == "" {
		t.Errorf("got upstream %+v, wanted its capacity measured", run.Upstream)
	}
	if image := run.Subjects[1].Image; image != "sha256:reads-rarely" {
		t.Errorf("the image of the second subject is %q", image)
	}
	if n := strings.Count(b.progress.String(), "\n"); n != made || !strings.Contains(b.progress.String(), fmt.Sprintf("%d/%d ", made, made)) {
		t.Errorf("got %d lines of progress, wanted %d:\n%s", n, made, &b.progress)
	}
	for _, name := range []string{"run.json", "report.md", "SHA256SUMS"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	checkRun(t, folder)
}

func TestSearch(t *testing.T) {
	t.Parallel()
	b := newBench(t, "slow")
	w := workload("fib", fib, "slow")
	w.Load.Shape, w.Load.Warmup = experiment.ShapeSearch, 2*second // one whole second of the clock at least
	w.Load.Objective = &experiment.Objective{Percentile: 99, Latency: yamlfile.Duration(50 * time.Millisecond), Step: 2 * second}
	w.Load.Duration = 2 * second
	run := b.newRun(w)
	run.Experiment.Workloads = append(run.Experiment.Workloads, workload("list", list, "slow")) // or the search would be made twice
	folder, err := b.run(t.Context(), t, run)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(run.Launches, func(l result.Launch) bool { return l.Workload == "fib" })
	l := run.Launches[i]
	if n := len(l.Search); len(l.Invalid) > 0 || n < 3 || !l.Search[n-1].Confirming || l.Limited {
		t.Fatalf("got %+v, invalid %q, limited %v, wanted a confirmed rate", l.Search, l.Invalid, l.Limited)
	}
	if start := l.Search[0].AskedPerSecond; start != 6 { // 0.7 of slowRate
		t.Errorf("the first rate is %v", start)
	}
	if found := run.Cell("fib", "slow").Figures.CallsPerSecond.Value; found != slowLimit {
		t.Errorf("found %v calls/s, wanted %d", found, slowLimit)
	}
	for _, s := range l.Search {
		if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(s.Folder), "summary.json")); err != nil {
			t.Error(err)
		}
	}
	checkRun(t, folder)
}

func TestInvalidLaunches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault, reason string
		errors        int64
		files         []string
	}{
		{"wrong", "3 wrong answers", 3, []string{"server.log", "usage.csv"}},
		{"crashes", "k6 ended with exit code 107 and left no summary; see its k6.log", 0, []string{"failure.txt", "k6.log", "server.log"}},
		{"does-not-start", "the server did not start: it exited with 2", 0, []string{"failure.txt"}},
		{"exits-1", "the server ended with exit code 1, wanted 0", 0, []string{"failure.txt", "server.log", "usage.csv"}},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "good", test.fault)
			run := b.newRun(workload("fib", fib, "good", test.fault))
			folder, err := b.run(t.Context(), t, run)
			if err != nil {
				t.Fatal(err)
			}
			if c := run.Cell("fib", "good"); c.Figures == nil {
				t.Errorf("good is invalid: %q", c.Invalid)
			}
			c := run.Cell("fib", test.fault)
			if c.Figures != nil || !slices.Equal(c.Invalid, []string{test.reason}) || c.Errors != test.errors {
				t.Errorf("got %+v, wanted it invalid: %q, with %d errors", c, test.reason, test.errors)
			}
			for _, l := range run.Launches {
				if l.Subject != test.fault {
					continue
				}
				for _, file := range test.files {
					if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(l.Folder), file)); err != nil {
						t.Error(err)
					}
				}
				if l.Subject == "wrong" && l.FirstError != `/result: want {"n":3,"result":2}, got 0` {
					t.Errorf("the first error is %q", l.FirstError)
				}
			}
			if !strings.Contains(b.progress.String(), "invalid: "+test.reason) {
				t.Errorf("the reason is not in the progress:\n%s", &b.progress)
			}
			if b.fake.running != 0 {
				t.Errorf("%d servers left running", b.fake.running)
			}
			checkRun(t, folder)
		})
	}
}

// cancelWhen ends the context once k6 has written its first line in the launch.
func cancelWhen(t *testing.T, results string, launch int) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		for ctx.Err() == nil {
			logs, _ := filepath.Glob(filepath.Join(results, ".partial-*", "launches", fmt.Sprintf("%03d-*", launch), "k6.log"))
			if len(logs) > 0 {
				if text, _ := os.ReadFile(logs[0]); len(text) > 0 {
					cancel()
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return ctx
}

func TestCancelledInTheFirstLaunch(t *testing.T) {
	t.Parallel()
	b := newBench(t, "hangs")
	folder, err := b.run(cancelWhen(t, b.results, 1), t, b.newRun(workload("fib", fib, "hangs")))
	if !errors.Is(err, context.Canceled) || folder != "" {
		t.Errorf("got %q, %v, wanted no folder and context.Canceled", folder, err)
	}
	if entries, err := os.ReadDir(b.results); err != nil || len(entries) > 0 {
		t.Errorf("results has %v, %v, wanted nothing left", entries, err)
	}
	if b.fake.running != 0 {
		t.Errorf("%d servers left running", b.fake.running)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	b := newBench(t, "good")
	w := workload("fib", fib, "good")
	w.Launches = 2
	run := b.newRun(w)
	plan := run.Experiment.Plan(run.Seed)

	folder, err := b.run(cancelWhen(t, b.results, 2), t, run)
	if !errors.Is(err, context.Canceled) || folder == "" || run.Status != result.Partial || len(run.Launches) != 1 {
		t.Fatalf("got %q, %v, a %s run of %d launches, wanted a partial one of 1", folder, err, run.Status, len(run.Launches))
	}
	if b.fake.running != 0 {
		t.Errorf("%d servers left running", b.fake.running)
	}
	checkRun(t, folder)

	// Now it is killed: what the second launch leaves is in the way of nothing.
	resume := func() (*result.Folder, *result.Run) {
		t.Helper()
		files, run, err := result.Reopen(b.results, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		return files, run
	}
	files, _ := resume()
	if err := files.Begin(); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(files.Path(), filepath.FromSlash(launchFolder(plan[1])), "stale")
	if err := errors.Join(os.MkdirAll(filepath.Dir(stale), 0o755), os.WriteFile(stale, nil, 0o644), files.Close()); err != nil {
		t.Fatal(err)
	}

	files, again := resume()
	first := again.Launches[0].StartedAt
	folder, err = Run(t.Context(), b.Config, again, files, progress.Plain(&b.progress))
	if err != nil || again.Status != result.Complete || len(again.Launches) != len(plan) {
		t.Fatalf("got %v, a %s run of %d launches, wanted a complete one of %d", err, again.Status, len(again.Launches), len(plan))
	}
	for i, l := range again.Launches {
		if l.Number != plan[i].Number || l.Again != plan[i].Again {
			t.Errorf("launch %d is %d, again %v, wanted as planned: %+v", i, l.Number, l.Again, plan[i])
		}
	}
	if !again.Launches[0].StartedAt.Equal(first) {
		t.Error("the first launch was made again")
	}
	checkRun(t, folder)
}

func TestWorkloadWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, "good")
	b.Oracle = func(string, json.RawMessage) (json.RawMessage, error) {
		return nil, errors.New(`argument "n": out of range`)
	}
	_, err := b.run(t.Context(), t, b.newRun(workload("fib", fib, "good")))
	if err == nil || !strings.Contains(err.Error(), `workload fib: calculate_fibonacci with {"n":3} has no successful answer to expect: argument "n"`) {
		t.Errorf("got %v", err)
	}
	if len(b.fake.started) > 0 {
		t.Error("a server was started")
	}
}

func TestUpstreamCapacityErrors(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if _, err := UpstreamCapacity(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "404 Not Found") {
		t.Errorf("got %v, wanted an error with the status", err)
	}
}

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		cpus, server, generator []int
		note                    bool
	}{
		{[]int{0, 1}, []int{1}, []int{0}, false},
		{[]int{2, 3, 5, 7}, []int{7}, []int{2, 3, 5}, false},
		{[]int{4}, []int{4}, []int{4}, true},
	} {
		server, generator, note := Split(test.cpus)
		if !slices.Equal(server, test.server) || !slices.Equal(generator, test.generator) || (note != "") != test.note {
			t.Errorf("%v: got %v, %v, %q", test.cpus, server, generator, note)
		}
	}
}

func TestSeconds(t *testing.T) {
	for text, want := range map[string]string{"1m30s": "90s", "2s": "2s", "300ms": "0.3s", "0s": "0s"} {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := seconds(d); got != want {
			t.Errorf("%s: got %s, wanted %s", text, got, want)
		}
	}
}

// checkRun checks that everything in a run's folder follows from its raw files.
func checkRun(t *testing.T, folder string) {
	t.Helper()
	found, err := verify.Folder(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found.Differences {
		t.Error(d)
	}
}
