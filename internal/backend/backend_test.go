package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"

	"github.com/mcp-parity/mcp-parity/internal/subject"
)

const root = "../.."

// testService is testdata/server, whose processes can be told from all others by the mark.
func testService(t *testing.T, env ...string) (s Service, mark string) {
	t.Helper()
	dir, err := filepath.Abs("testdata/server")
	if err != nil {
		t.Fatal(err)
	}
	mark = "TEST_MARK=" + uuid.NewString()
	s = serverIn(dir)
	s.Env = map[string]string{}
	for _, assignment := range append(env, mark) {
		name, value, _ := strings.Cut(assignment, "=")
		s.Env[name] = value
	}
	return s, mark
}

func serverIn(dir string) Service {
	return Service{
		Name:   "test/server",
		Dir:    dir,
		Docker: &subject.Docker{Context: ".", Dockerfile: "Dockerfile"},
		Process: &subject.Process{
			Needs:   []subject.Need{{Command: []string{"go", "version"}, Version: "1.26", Get: "https://go.dev/dl/"}},
			Sources: []string{"."},
			Build:   [][]string{{"go", "build", "-o", "{{out}}/server", "."}},
			Run:     []string{"{{out}}/server"},
		},
	}
}

// left lists the processes that have the mark in their environment. A container's are seen too, when the engine is on this machine.
func left(t *testing.T, mark string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot list processes: %v", err)
	}
	var found []string
	for _, file := range files {
		// A process may end between the two steps, or belong to somebody else.
		environ, err := os.ReadFile(file)
		if err == nil && slices.Contains(strings.Split(string(environ), "\x00"), mark) {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	return found
}

// expectNothingLeft waits a moment, as a killed process is there until it has been reaped.
func expectNothingLeft(t *testing.T, b Backend, mark string) {
	t.Helper()
	eventually(t, "no process is left", func() bool { return len(left(t, mark)) == 0 })
	d, ok := b.(*dockerBackend)
	if !ok {
		return
	}
	list, err := d.provider.Client().ContainerList(context.Background(), client.ContainerListOptions{
		All: true, Filters: client.Filters{}.Add("label", labelRun+"="+d.run),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Items {
		t.Errorf("container %s (%s) is left", c.ID, c.Status)
	}
}

// onEach runs a test with every backend that this machine has. Processes are always there. Containers need an engine: with
// PARITY_BACKEND=docker its absence is a failure, with PARITY_BACKEND=process containers are left out, and without either they are tested
// where an engine answers.
func onEach(t *testing.T, test func(t *testing.T, b Backend)) {
	t.Run(KindProcess, func(t *testing.T) { test(t, open(t, KindProcess)) })
	t.Run(KindDocker, func(t *testing.T) { test(t, openDocker(t)) })
}

func open(t *testing.T, kind string) Backend {
	t.Helper()
	b, err := New(t.Context(), kind, Options{Root: root, LogDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func openDocker(t *testing.T) Backend {
	t.Helper()
	asked := os.Getenv("PARITY_BACKEND")
	if asked == KindProcess {
		t.Skip("PARITY_BACKEND=process")
	}
	b, err := New(t.Context(), KindDocker, Options{Root: root, LogDir: t.TempDir()})
	if err != nil && asked != KindDocker {
		t.Skipf("%v (PARITY_BACKEND=docker makes this a failure)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func start(t *testing.T, b Backend, s Service) Instance {
	t.Helper()
	i, err := b.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d %s (%v)", url, resp.StatusCode, body, err)
	}
	return string(body)
}

// eventually waits until something holds, for as long as a busy machine may need.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came true that %s", what)
		}
	}
}

func usage(t *testing.T, i Instance) Usage {
	t.Helper()
	u, err := i.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestServiceGetsItsEnvironment(t *testing.T) {
	t.Setenv("SETTING_OF_THIS_MACHINE", "1")
	onEach(t, func(t *testing.T, b Backend) {
		s, mark := testService(t, "GOGC=123")
		i := start(t, b, s)
		var env []string
		if err := json.Unmarshal([]byte(get(t, i.URL()+"/env")), &env); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(i.URL())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"GOGC=123", mark, "HOST=127.0.0.1", "PORT=" + u.Port()} {
			if !slices.Contains(env, want) {
				t.Errorf("lacks %s: %v", want, env)
			}
		}
		if slices.Contains(env, "SETTING_OF_THIS_MACHINE=1") {
			t.Error("a setting of this machine got through")
		}
	})
}

func TestServiceIsBoundToItsCPU(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		s, _ := testService(t)
		all := start(t, b, s)
		s.CPUs = []int{1}
		bound := start(t, b, s)
		if got := get(t, bound.URL()+"/cpus"); got != "1" {
			t.Errorf("bound to CPUs %s, want 1", got)
		}
		after := start(t, b, Service{Name: s.Name, Dir: s.Dir, Docker: s.Docker, Process: s.Process})
		if first, second := get(t, all.URL()+"/cpus"), get(t, after.URL()+"/cpus"); first != second || first == "1" {
			t.Errorf("unbound services have CPUs %s before and %s after the bound one", first, second)
		}
	})
}

func TestUsageGrows(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		s, _ := testService(t)
		i := start(t, b, s)
		before := usage(t, i)
		if before.Memory <= 0 || before.PeakMemory < before.Memory {
			t.Errorf("at the start: %+v", before)
		}
		get(t, i.URL()+"/burn")
		burnt := usage(t, i)
		if used := burnt.CPU - before.CPU; used < 250*time.Millisecond || used > 3*time.Second {
			t.Errorf("used %v of CPU, want about 300ms", used)
		}
		if elapsed := burnt.At.Sub(before.At); elapsed <= 0 {
			t.Errorf("time went by %v", elapsed)
		}
		get(t, i.URL()+"/hold")
		if held := usage(t, i); held.Memory-burnt.Memory < 60<<20 || held.PeakMemory < held.Memory {
			t.Errorf("after 64 MiB more: %+v, before: %+v", held, burnt)
		}
		before = usage(t, i)
		get(t, i.URL()+"/fork")
		eventually(t, "the CPU time of a child counts", func() bool { return usage(t, i).CPU-before.CPU > 150*time.Millisecond })
	})
}

func TestStopEndsAllProcesses(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		s, mark := testService(t, "TEST_EXIT=7")
		i := start(t, b, s)
		get(t, i.URL()+"/fork")
		if n := len(left(t, mark)); n != 2 {
			t.Fatalf("%d processes, want 2", n)
		}
		for range 2 { // the second time it tells the same
			if code, err := i.Stop(t.Context()); code != 7 || err != nil {
				t.Errorf("exit code %d (%v), want 7", code, err)
			}
		}
		expectNothingLeft(t, b, mark)
		log, err := os.ReadFile(i.LogPath())
		if err != nil || !strings.Contains(string(log), "listens\nends on SIGTERM\n") {
			t.Errorf("the log is %q (%v)", log, err)
		}
		if _, err := i.Usage(t.Context()); err == nil {
			t.Error("usage of what has ended")
		}
	})
}

func TestCrashAtStartShowsTheLog(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		s, mark := testService(t, "TEST_MODE=crash")
		_, err := b.Start(t.Context(), s)
		var failure *Failure
		if !errors.As(err, &failure) {
			t.Fatalf("got %v", err)
		}
		for _, want := range []string{"test/server", "exit", "3", "    told to crash", failure.LogPath} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nlacks %q", err, want)
			}
		}
		expectNothingLeft(t, b, mark)
	})
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		s, mark := testService(t, "TEST_MODE=never ready")
		if err := b.Build(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error, 1)
		go func() {
			_, err := b.Start(ctx, s)
			given <- err
		}()
		eventually(t, "the service runs", func() bool { return len(left(t, mark)) > 0 })
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		expectNothingLeft(t, b, mark)
	})
}

func TestCloseStopsAll(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		s, mark := testService(t)
		start(t, b, s)
		start(t, b, s)
		never, neverMark := testService(t, "TEST_MODE=never ready")
		waiting := make(chan error, 1)
		go func() {
			_, err := b.Start(context.Background(), never)
			waiting <- err
		}()
		eventually(t, "the third service runs", func() bool { return len(left(t, neverMark)) > 0 })
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := <-waiting; !errors.Is(err, errClosed) {
			t.Errorf("the start that was under way: %v", err)
		}
		expectNothingLeft(t, b, neverMark)
		expectNothingLeft(t, b, mark)
		if _, err := b.Start(t.Context(), s); !errors.Is(err, errClosed) {
			t.Errorf("a start afterwards: %v", err)
		}
	})
}

func TestStopTellsThatAServiceHadEnded(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		s, mark := testService(t)
		i := start(t, b, s)
		if resp, err := http.Get(i.URL() + "/exit"); err == nil {
			resp.Body.Close()
			t.Fatal("it answered")
		}
		eventually(t, "the backend has seen the end", func() bool {
			_, err := i.Usage(t.Context())
			return errors.Is(err, errEnded)
		})
		code, err := i.Stop(t.Context())
		if code != 4 || err == nil || !strings.Contains(err.Error(), "it had ended by itself (exit code 4)") || !strings.Contains(err.Error(), "told to exit") {
			t.Errorf("exit code %d, %v", code, err)
		}
		expectNothingLeft(t, b, mark)
	})
}

func TestStopKillsWhenItsContextEnds(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		s, mark := testService(t, "TEST_MODE=ignore SIGTERM")
		i := start(t, b, s)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		code, err := i.Stop(ctx)
		if code != 137 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("exit code %d, %v", code, err)
		}
		expectNothingLeft(t, b, mark)
	})
}

func TestPortInUseIsAnError(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		s, mark := testService(t)
		s.Port = l.Addr().(*net.TCPAddr).Port
		if _, err := b.Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d is in use", s.Port)) {
			t.Errorf("got %v", err)
		}
		expectNothingLeft(t, b, mark)
	})
}

func TestServiceListensOnItsPort(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		s, _ := testService(t)
		s.Port = 18351
		if i := start(t, b, s); i.URL() != "http://127.0.0.1:18351" {
			t.Errorf("it is at %s", i.URL())
		}
	})
}

func TestFailingBuildShowsItsOutput(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		s, _ := testService(t)
		dir := t.TempDir()
		for name, text := range map[string]string{
			"main.go":    "package main\n\nfunc main() { undefined() }\n",
			"go.mod":     "module example.org/broken\n",
			"Dockerfile": "ARG GO_IMAGE=golang:1.26\nFROM ${GO_IMAGE}\nCOPY main.go /src/\nRUN gofmt -l /src; echo undefined: undefined; exit 1\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s.Dir, s.Process.Build = dir, [][]string{{"env", "GOWORK=off", "go", "build", "-o", "{{out}}/server", "."}}
		err := b.Build(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), "undefined: undefined") || !strings.Contains(err.Error(), "build "+filepath.Base(dir)) {
			t.Errorf("got %v", err)
		}
	})
}

func TestUpstreamIsAService(t *testing.T) {
	onEach(t, func(t *testing.T, b Backend) {
		abs, err := filepath.Abs(root)
		if err != nil {
			t.Fatal(err)
		}
		upstream := start(t, b, Upstream(abs))
		s, _ := testService(t)
		peer := start(t, b, s)
		if got := get(t, peer.URL()+"/get?url="+url.QueryEscape(upstream.PeerURL()+"/items/1")); !strings.Contains(got, `"id":"1"`) {
			t.Errorf("got %s", got)
		}
		if code, err := upstream.Stop(t.Context()); code != 0 || err != nil {
			t.Errorf("exit code %d (%v), want 0", code, err)
		}
	})
}

func TestNew(t *testing.T) {
	if _, err := New(t.Context(), "podman", Options{Root: root}); err == nil || !strings.Contains(err.Error(), "auto, docker or process") {
		t.Errorf("got %v", err)
	}
	auto := open(t, KindAuto)
	notes := strings.Join(auto.Notes(), "\n")
	_, err := net.DialTimeout("unix", "/var/run/docker.sock", time.Second)
	if listens := err == nil; listens != (auto.Name() == KindDocker) {
		t.Errorf("chose %s; an engine listens here: %v", auto.Name(), listens)
	}
	if !strings.Contains(notes, "Docker engine") {
		t.Errorf("the notes do not tell why: %s", notes)
	}
}

func TestWithoutAnEngine(t *testing.T) {
	none := func(context.Context) (*testcontainers.DockerProvider, system.Info, error) {
		return nil, system.Info{}, &noEngineError{errors.New("nobody\nlistens")}
	}
	b, err := choose(t.Context(), KindAuto, Options{Root: root}, none)
	if err != nil {
		t.Fatal(err)
	}
	if want := "processes, as no Docker engine answers (nobody listens)"; b.Name() != KindProcess || b.Notes()[0] != want {
		t.Errorf("got %s: %s, want %s", b.Name(), b.Notes()[0], want)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	_, err = choose(t.Context(), KindDocker, Options{Root: root}, none)
	if err == nil || !strings.Contains(err.Error(), "nobody listens") || !strings.Contains(err.Error(), "install Docker") {
		t.Errorf("got %v", err)
	}
}

func TestTemporaryLogsAreKeptOnFailureOnly(t *testing.T) {
	for _, mode := range []string{"", "crash"} {
		b, err := New(t.Context(), KindProcess, Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		dir := b.(*processBackend).logs.dir
		s, _ := testService(t, "TEST_MODE="+mode)
		if _, err := b.Start(t.Context(), s); (err != nil) != (mode == "crash") {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) != (mode == "") {
			t.Errorf("mode %q: %v", mode, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
}

func TestPortsAreDistinct(t *testing.T) {
	var p ports
	seen := map[int]bool{}
	for range 50 {
		port, err := p.take(0)
		if err != nil || seen[port] || port < lowPort || port >= highPort {
			t.Fatalf("port %s (%v)", strconv.Itoa(port), err)
		}
		seen[port] = true
	}
}
