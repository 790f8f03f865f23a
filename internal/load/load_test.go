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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
	"github.com/mcp-parity/mcp-parity/internal/verify"
)

// TestMain lets this test's binary stand in for k6: it is called so through a link of that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "k6" {
		os.Exit(fakeK6())
	}
	os.Exit(m.Run())
}

// fakeK6 takes the same input as k6 with closed.js and leaves the same output, without a server: 100 calls of 1 ms in the window,
// after a warm-up. What goes wrong is chosen by the path of the URL's server name: see fakeBackend.
func fakeK6() int {
	duration := func(name string) time.Duration {
		d, err := time.ParseDuration(os.Getenv(name))
		if err != nil {
			fmt.Println(name, err)
			os.Exit(1)
		}
		return d
	}
	if len(os.Args) < 3 || os.Args[1] != "run" || os.Getenv("K6_VUS") != "" {
		fmt.Println("wrong command line or environment", os.Args, os.Environ())
		return 1
	}
	var workload struct {
		Tool      string
		Arguments json.RawMessage
		Method    string
	}
	if err := json.Unmarshal([]byte(os.Getenv("WORKLOAD")), &workload); err != nil {
		fmt.Println(err)
		return 1
	}
	folder := os.Getenv("K6_MCP_HISTOGRAMS")
	fault := strings.TrimSuffix(strings.TrimPrefix(os.Getenv("MCP_URL"), fakeBase), "/mcp")
	fmt.Println("fake k6:", fault)
	switch fault {
	case "hangs":
		time.Sleep(time.Hour)
	case "crashes":
		return 107
	}
	time.Sleep(duration("WARMUP"))
	start := time.Now()
	time.Sleep(duration("DURATION"))
	end := time.Now()

	h := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	h.RecordValues(1000, 100)
	h.SetStartTimeMs(start.UnixMilli())
	h.SetEndTimeMs(end.UnixMilli())
	var log bytes.Buffer
	w := hdrhistogram.NewHistogramLogWriter(&log)
	w.OutputLogFormatVersion()
	w.OutputLegend()
	w.OutputIntervalHistogram(h)
	method := workload.Method
	if workload.Tool != "" {
		method = "tools/call"
	}
	measured := stats.Series{
		Method: method, Tool: workload.Tool, Phase: stats.PhaseMeasure, OK: 100,
		StartUnixMS: start.UnixMilli(), EndUnixMS: end.UnixMilli(), Histogram: "measure.hlog",
	}
	warmup := measured
	warmup.Phase, warmup.OK, warmup.Histogram = "warmup", 7, "warmup.hlog"
	if fault == "wrong" {
		warmup.Wrong, warmup.FirstWrong = 1, "/result: want "+os.Getenv("EXPECTED")+", got 0"
		measured.Wrong = 2
	}
	text, err := json.Marshal(stats.Summary{Version: 1, Series: []stats.Series{{Method: "initialize", OK: 2}, warmup, measured}})
	err = errors.Join(err,
		os.WriteFile(filepath.Join(folder, "measure.hlog"), log.Bytes(), 0o644),
		os.WriteFile(filepath.Join(folder, "summary.json"), text, 0o644))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// fakeHost starts k6 wherever the system likes.
type fakeHost struct{ Host }

func (fakeHost) StartCommand(cmd *exec.Cmd, _ []int) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}

// fakeBackend starts servers that use half a CPU and 10 MB. A server's name is its fault: "wrong", "crashes" and "hangs" are k6's,
// "does-not-start" and "exits-1" the server's own; the usage of "reads-rarely" is up to 250 ms old; others have none.
type fakeBackend struct {
	mu      sync.Mutex
	started []string
	running int
	dir     string
}

func (b *fakeBackend) Name() string                                 { return backend.KindProcess }
func (b *fakeBackend) Notes() []string                              { return []string{"fakes, as asked", "nothing is measured"} }
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
	backend   *fakeBackend
	name, log string
	start     time.Time
}

func (i *fakeInstance) Name() string    { return i.name }
func (i *fakeInstance) URL() string     { return fakeBase + i.name }
func (i *fakeInstance) PeerURL() string { return i.URL() }
func (i *fakeInstance) LogPath() string { return i.log }

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

// setUp returns a configuration with servers of the given names and an experiment that loads them with two workloads.
func setUp(t *testing.T, names ...string) (Config, experiment.Experiment, *fakeBackend, *bytes.Buffer) {
	t.Helper()
	t.Setenv("K6_VUS", "7") // must not reach k6
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
	var progress bytes.Buffer
	c := Config{
		Backend: fake, Services: map[string]backend.Service{}, UpstreamURL: upstream.URL,
		Budget: result.Budget{ServerCPUs: []int{0}, GeneratorCPUs: []int{0}},
		Host:   fakeHost{}, K6: k6, Script: "closed.js",
		Oracle: func(string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"n":3,"result":2}`), nil
		},
		Seed: 1, Command: "parity run tiny", Notes: []string{"One more note."},
		Environment: result.Environment{CPUs: 1, OS: "linux", Arch: "amd64", Go: "go1.26"},
		Results:     filepath.Join(t.TempDir(), "results"), Progress: &progress,
	}
	e := experiment.Experiment{
		Name: "tiny", Title: "Tiny", Subjects: names, Reference: names[0], Launches: 1,
		Load: experiment.Load{
			Shape: experiment.ShapeClosed, Users: 2,
			Warmup: experiment.Duration(10 * time.Millisecond), Duration: experiment.Duration(300 * time.Millisecond),
		},
		Workloads: []experiment.Workload{
			{Name: "list", Method: experiment.MethodListTools},
			{Name: "fib", Tool: "calculate_fibonacci", Arguments: map[string]any{"n": 3}},
		},
	}
	for _, name := range names {
		c.Services[name] = backend.Service{Name: name}
		c.Subjects = append(c.Subjects, result.Subject{
			ID: name, Title: name, Language: result.Version{Name: "Go", Version: "1"}, SDK: result.Version{Name: "sdk", Version: "1"},
		})
	}
	return c, e, fake, &progress
}

func TestRun(t *testing.T) {
	c, e, fake, progress := setUp(t, "good", "reads-rarely")
	e.Workloads = append(e.Workloads, experiment.Workload{Name: "fetch", Tool: "fetch_external_data", Arguments: map[string]any{"endpoint": "/items/1"}})
	run, folder, err := Run(t.Context(), c, e)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Cells) != 6 {
		t.Fatalf("got %d cells, wanted 6", len(run.Cells))
	}
	for _, cell := range run.Cells {
		f := cell.Figures
		if f == nil {
			t.Fatalf("%s %s is invalid: %q", cell.Subject, cell.Workload, cell.Invalid)
		}
		// 100 calls in about 0.3 s that used half of it as CPU time.
		if f.CallsPerSecond < 200 || f.CallsPerSecond > 340 || f.P50MS != 1 {
			t.Errorf("%s %s: got %+v, wanted about 330 calls/s of 1 ms", cell.Subject, cell.Workload, *f)
		}
		if got, want := f.CPUSecondsPer1000*f.CallsPerSecond/1000, 0.5; got < want-0.01 || got > want+0.01 {
			t.Errorf("%s %s: used %v CPUs, wanted %v", cell.Subject, cell.Workload, got, want)
		}
		if f.MemoryIdleBytes != 10e6 || f.MemoryPeakBytes != 12e6 {
			t.Errorf("%s %s: got %+v, wanted 10 and 12 MB", cell.Subject, cell.Workload, *f)
		}
	}
	if len(fake.started) != 6 || fake.running != 0 {
		t.Errorf("%d starts, %d left running, wanted 6 and 0", len(fake.started), fake.running)
	}
	if run.Upstream == nil || run.Upstream.CapacityPerSecond < 100 || run.Upstream.FastestSubject == "" {
		t.Errorf("got upstream %+v, wanted its capacity measured", run.Upstream)
	}
	if want := []string{"Backend: fakes, as asked; nothing is measured.", "One more note."}; !slices.Equal(run.Notes, want) {
		t.Errorf("notes are %q, wanted %q", run.Notes, want)
	}
	if n := strings.Count(progress.String(), "\n"); n != 7 || !strings.Contains(progress.String(), "6/6 ") {
		t.Errorf("got %d lines of progress, wanted 6 launches and upstream:\n%s", n, progress)
	}
	for _, name := range []string{"run.json", "report.md", "SHA256SUMS"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	for _, l := range run.Launches {
		var names []string
		for _, entry := range list(t, filepath.Join(folder, filepath.FromSlash(l.Folder))) {
			names = append(names, entry.Name())
		}
		if want := []string{"k6.log", "measure.hlog", "summary.json", "usage.csv"}; !slices.Equal(names, want) {
			t.Errorf("%s has %q, wanted %q", l.Folder, names, want)
		}
	}
	checkRun(t, folder)
}

func TestInvalidLaunches(t *testing.T) {
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
			c, e, fake, progress := setUp(t, "good", test.fault)
			run, folder, err := Run(t.Context(), c, e)
			if err != nil {
				t.Fatal(err)
			}
			for _, workload := range []string{"list", "fib"} {
				if c := run.Cell(workload, "good"); c.Figures == nil {
					t.Errorf("good %s is invalid: %q", workload, c.Invalid)
				}
				c := run.Cell(workload, test.fault)
				if c.Figures != nil || !slices.Equal(c.Invalid, []string{test.reason}) || c.Errors != test.errors {
					t.Errorf("got %+v, wanted it invalid: %q, with %d errors", c, test.reason, test.errors)
				}
			}
			for _, l := range run.Launches {
				for _, file := range test.files {
					if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(l.Folder), file)); l.Subject == test.fault && err != nil {
						t.Error(err)
					}
				}
				if l.Subject == "wrong" && l.Workload == "fib" && l.FirstError != `/result: want {"n":3,"result":2}, got 0` {
					t.Errorf("the first error is %q", l.FirstError)
				}
			}
			if !strings.Contains(progress.String(), "invalid: "+test.reason) {
				t.Errorf("the reason is not in the progress:\n%s", progress)
			}
			if fake.running != 0 {
				t.Errorf("%d servers left running", fake.running)
			}
			checkRun(t, folder)
		})
	}
}

func TestCancel(t *testing.T) {
	c, e, fake, _ := setUp(t, "hangs")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		// As soon as k6 has written its first line.
		for ctx.Err() == nil {
			logs, _ := filepath.Glob(filepath.Join(c.Results, ".partial-*", "launches", "*", "k6.log"))
			if len(logs) > 0 {
				if text, _ := os.ReadFile(logs[0]); len(text) > 0 {
					cancel()
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	_, folder, err := Run(ctx, c, e)
	if !errors.Is(err, context.Canceled) || folder != "" {
		t.Errorf("got %q, %v, wanted no folder and context.Canceled", folder, err)
	}
	if entries := list(t, c.Results); len(entries) > 0 {
		t.Errorf("results has %v, wanted nothing left", entries)
	}
	if fake.running != 0 {
		t.Errorf("%d servers left running", fake.running)
	}
}

func TestWorkloadWithoutAnAnswer(t *testing.T) {
	c, e, fake, _ := setUp(t, "good")
	c.Oracle = func(string, json.RawMessage) (json.RawMessage, error) {
		return nil, errors.New(`argument "n": out of range`)
	}
	_, _, err := Run(t.Context(), c, e)
	if err == nil || !strings.Contains(err.Error(), `workload fib: calculate_fibonacci with {"n":3} has no successful answer to expect: argument "n"`) {
		t.Errorf("got %v", err)
	}
	if len(fake.started) > 0 {
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
		if got := seconds(experiment.Duration(d)); got != want {
			t.Errorf("%s: got %s, wanted %s", text, got, want)
		}
	}
}

func list(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
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
