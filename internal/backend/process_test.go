package backend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/mcp-parity/mcp-parity/internal/subject"
)

// harnessVariable turns this program into a harness that starts a service, marked with its value, and waits to be killed.
const harnessVariable = "PARITY_TEST_HARNESS"

func TestMain(m *testing.M) {
	mark, ok := os.LookupEnv(harnessVariable)
	if !ok {
		os.Exit(m.Run())
	}
	b, err := New(context.Background(), KindProcess, Options{Root: root})
	if err == nil {
		s := serverIn("testdata/server")
		s.Env = map[string]string{"TEST_MARK": mark}
		_, err = b.Start(context.Background(), s)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
	select {}
}

func TestKilledHarnessTakesItsServersWithIt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere no system call tells a child that its parent has gone")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mark := uuid.NewString()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), harnessVariable+"="+mark, "TMPDIR="+t.TempDir())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line != "started\n" {
		t.Errorf("the harness said %q (%v)", line, err)
	}
	if n := len(left(t, "TEST_MARK="+mark)); n != 1 {
		t.Errorf("%d services run, want 1", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	eventually(t, "no service is left", func() bool { return len(left(t, "TEST_MARK="+mark)) == 0 })
}

// freshCache gives the test a cache of builds of its own, though the compiler's usual one.
func freshCache(t *testing.T) {
	t.Helper()
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
}

// shellService is built by a line of shell in a folder with the file "source".
func shellService(t *testing.T, line string) Service {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "source"), "1")
	return Service{
		Name: "shell", Dir: dir,
		Process: &subject.Process{Sources: []string{"source"}, Build: [][]string{{"sh", "-c", line}}, Run: []string{"{{out}}/run"}},
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// build builds with a host of its own, as another start of the program would.
func build(t *testing.T, s Service) (out string, err error) {
	t.Helper()
	host := NewHost()
	defer host.Close()
	return host.BuildDir(t.Context(), s)
}

func lines(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

func TestBuildIsKeptUntilSomethingChanges(t *testing.T) {
	freshCache(t)
	count := filepath.Join(t.TempDir(), "count")
	s := shellService(t, "echo >>"+count+"; cp source {{out}}/run")
	first, err := build(t, s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := build(t, s)
	if err != nil || again != first || lines(t, count) != 1 {
		t.Errorf("unchanged: %s after %s (%v), built %d times", again, first, err, lines(t, count))
	}

	changes := []struct {
		name   string
		change func()
	}{
		{"content", func() { write(t, filepath.Join(s.Dir, "source"), "2") }},
		{"permissions", func() {
			if err := os.Chmod(filepath.Join(s.Dir, "source"), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{"command", func() { s.Process.Build = append(s.Process.Build, []string{"true"}) }},
		{"need", func() { s.Process.Needs = []subject.Need{{Command: []string{"go", "version"}, Get: "-"}} }},
	}
	seen := map[string]bool{first: true}
	for n, c := range changes {
		c.change()
		out, err := build(t, s)
		if err != nil || seen[out] || lines(t, count) != n+2 {
			t.Errorf("%s changed: %s (%v), built %d times, want %d", c.name, out, err, lines(t, count), n+2)
		}
		seen[out] = true
	}
	write(t, filepath.Join(s.Dir, "unrelated"), "1")
	if out, err := build(t, s); err != nil || !seen[out] {
		t.Errorf("a file changed that is no source: %s (%v)", out, err)
	}
}

func TestOneRunUsesOneBuild(t *testing.T) {
	freshCache(t)
	s := shellService(t, "cp source {{out}}/run")
	host := NewHost()
	defer host.Close()
	first, err := host.BuildDir(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.Dir, "source"), "2")
	if second, err := host.BuildDir(t.Context(), s); err != nil || second != first {
		t.Errorf("got %s after %s (%v)", second, first, err)
	}
}

func TestUnfinishedBuildIsMadeAnew(t *testing.T) {
	freshCache(t)
	allow := filepath.Join(t.TempDir(), "allow")
	s := shellService(t, "test ! -e {{out}}/rest || exit 5; touch {{out}}/rest; echo tried; test -e "+allow)
	_, err := build(t, s)
	var failure *Failure
	if !errors.As(err, &failure) || !strings.Contains(failure.Tail, "tried") {
		t.Fatalf("got %v", err)
	}
	write(t, allow, "")
	if _, err := build(t, s); err != nil {
		t.Error(err)
	}
}

func TestBuildsAtTheSameTimeAreOne(t *testing.T) {
	freshCache(t)
	count := filepath.Join(t.TempDir(), "count")
	s := shellService(t, "echo >>"+count+"; sleep 0.3")
	var builds sync.WaitGroup
	for range 3 {
		builds.Go(func() {
			if _, err := build(t, s); err != nil {
				t.Error(err)
			}
		})
	}
	builds.Wait()
	if n := lines(t, count); n != 1 {
		t.Errorf("built %d times", n)
	}
}

func TestBuildGivesUpWithItsContext(t *testing.T) {
	freshCache(t)
	mark := "TEST_MARK=" + uuid.NewString()
	s := shellService(t, mark+" sleep 3600 & "+mark+" sleep 3600")
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	host := NewHost()
	defer host.Close()
	go func() {
		_, err := host.BuildDir(ctx, s)
		given <- err
	}()
	eventually(t, "both commands run", func() bool { return len(left(t, mark)) == 2 })
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	eventually(t, "no command is left", func() bool { return len(left(t, mark)) == 0 })
}

func TestUnusedBuildsAreRemoved(t *testing.T) {
	freshCache(t)
	s := shellService(t, "true")
	old, err := build(t, s)
	if err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-keepUnused - time.Hour)
	if err := os.Chtimes(filepath.Join(filepath.Dir(old), "complete"), past, past); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.Dir, "source"), "2")
	recent, err := build(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if exists(old) || !exists(recent) {
		t.Errorf("the old build is there: %v, the new one: %v", exists(old), exists(recent))
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestNeeds(t *testing.T) {
	bin := t.TempDir()
	write(t, filepath.Join(bin, "tool"), "#!/bin/sh\necho 'tool \"17.0.1\" 2026-01-01' >&2\n")
	write(t, filepath.Join(bin, "mute"), "#!/bin/sh\n")
	write(t, filepath.Join(bin, "broken"), "#!/bin/sh\necho no way; exit 1\n")
	for _, name := range []string{"tool", "mute", "broken"} {
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	tests := []struct {
		command, version, want string
	}{
		{"tool", "", ""},
		{"tool", "17", ""},
		{"tool", "17.0.1", ""},
		{"tool", "9.9", ""},
		{"tool", "17.0.2", "tool 17.0.2 or newer is needed, but tool -v (" + bin + "/tool) prints 17.0.1; get it from the shop"},
		{"tool", "18", "tool 18 or newer is needed"},
		{"mute", "", ""},
		{"mute", "1", "mute 1 or newer is needed, but mute -v (" + bin + "/mute) prints no version"},
		{"broken", "1", "failed: exit status 1: no way"},
		{"absent", "1", "absent 1 or newer is needed, but absent is not on PATH; get it from the shop"},
	}
	for _, test := range tests {
		f := look(t.Context(), ".", subject.Need{Command: []string{test.command, "-v"}, Version: test.version, Get: "the shop"})
		if (f.err != nil) != (test.want != "") || f.err != nil && !strings.Contains(f.err.Error(), test.want) {
			t.Errorf("%s %s: got %v, want %s", test.command, test.version, f.err, test.want)
		}
	}
	s := shellService(t, "true")
	s.Process.Needs = []subject.Need{
		{Command: []string{"absent"}, Version: "1", Get: "here"}, {Command: []string{"missing"}, Version: "2", Get: "there"},
	}
	_, err := build(t, s)
	if err == nil || !strings.Contains(err.Error(), "get it from here") || !strings.Contains(err.Error(), "get it from there") {
		t.Errorf("not all that is missing is named: %v", err)
	}
}

func TestSourcesLeaveOutWhatGitIgnores(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"kept", "ignored.tmp", "deleted"} {
		write(t, filepath.Join(dir, name), name)
	}
	write(t, filepath.Join(dir, ".gitignore"), "*.tmp\n")
	all, err := sourceFiles(dir)
	if got := strings.Join(all, " "); err != nil || got != ".gitignore deleted ignored.tmp kept" {
		t.Errorf("without git: %s (%v)", got, err)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "deleted"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if err := os.Remove(filepath.Join(dir, "deleted")); err != nil {
		t.Fatal(err)
	}
	files, err := sourceFiles(dir)
	if got := strings.Join(files, " "); err != nil || got != ".gitignore kept" {
		t.Errorf("with git: %s (%v)", got, err)
	}
}

func TestDoctor(t *testing.T) {
	abs, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	absent := subject.Need{Command: []string{"no-such-command"}, Version: "1", Get: "nowhere"}
	goVersion := Upstream(abs).Process.Needs[0]
	findings := examineProcess(t.Context(), abs, []subject.Subject{
		{Name: "a", Dir: abs, Process: &subject.Process{Needs: []subject.Need{goVersion, absent}}},
		{Name: "b", Dir: abs},
	})
	text := fmt.Sprintf("%+v", findings)
	for _, want := range []string{
		"What:go 1.26 or newer For:[upstream a] Found:1.", "What:no-such-command 1 or newer For:[a] Found: Missing:no-such-command 1 or newer is needed",
		"subject.yaml of b has none",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
}
