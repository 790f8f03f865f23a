package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
	"github.com/mcp-parity/mcp-parity/internal/stats/statstest"
)

func TestGuardCannotRun(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"no subject", []string{"--base", "HEAD"}, "subject"},
		{"no base", []string{"--subject", "go"}, "base"},
		{"unknown subject", []string{"--subject", "cobol", "--base", "HEAD"}, "unknown subject"},
		{"path of a subject", []string{"--subject", "./mine", "--base", "HEAD"}, "is a path"},
		{"unknown variant", []string{"--subject", "go/nope", "--base", "HEAD"}, "unknown subject"},
		{"unknown base", []string{"--subject", "go", "--base", "no-such-branch"}, "--base: \"no-such-branch\" is no commit"},
		{"unknown head", []string{"--subject", "go", "--base", "HEAD", "--head", "no-such-branch"}, "--head: \"no-such-branch\" is no commit"},
		{"unknown workload", []string{"--subject", "go", "--base", "HEAD", "--workload", "nope"}, "choose from calculate_fibonacci"},
		{"too few pairs", []string{"--subject", "go", "--base", "HEAD", "--pairs", "3"}, "--pairs"},
		{"image for processes", []string{"--subject", "go", "--base", "image:my-server:1"}, "--base: image:my-server:1 is a container image"},
		{"too short", []string{"--subject", "go", "--base", "HEAD", "--duration", "10ms"}, "--duration: 10ms is not from 1s"},
		{"falling pairs", []string{"--subject", "go", "--base", "HEAD", "--pairs", "10,8"}, "--pairs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := root()
			cmd.SetArgs(append([]string{"guard", "--backend", "process"}, test.args...))
			err := cmd.ExecuteContext(t.Context())
			if got := exitCode(err); got != exitCouldNotRun || !strings.Contains(err.Error(), test.want) {
				t.Errorf("exit code %d and error %v, wanted %d and %q", got, err, exitCouldNotRun, test.want)
			}
		})
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("error %v; these are left: %v", err, left)
	}
	out, err := exec.Command("git", "worktree", "list").Output()
	if err != nil || strings.Contains(string(out), temporary) {
		t.Errorf("error %v; work trees are left:\n%s", err, out)
	}
}

func TestFindVersion(t *testing.T) {
	repository := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", repository, "-c", "user.name=n", "-c", "user.email=e"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "--quiet")
	git("commit", "--quiet", "--allow-empty", "-m", "before there was a server")
	git("tag", "empty")
	subjectFile := filepath.Join(repository, "servers", "tiny", "subject.yaml")
	err := errors.Join(os.MkdirAll(filepath.Dir(subjectFile), 0o755), os.WriteFile(subjectFile, []byte(`
name: tiny
title: Tiny
language: {name: Go, version: "1.26"}
sdk: {name: none, version: v1}
port: 18500
profiles: ["2025-11-25"]
variants:
  - name: stateful
    env: {MCP_SESSIONS: stateful}
process:
  sources: ["."]
  build: [["true"]]
  run: ["true"]
`), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "--quiet", "-m", "a server")

	v, remove, err := findVersion(t.Context(), repository, "HEAD", "tiny/stateful")
	if err != nil {
		t.Fatal(err)
	}
	if v.target.ID() != "tiny/stateful" || strings.HasPrefix(v.target.Dir, repository) || !strings.HasPrefix(v.title, "HEAD (") {
		t.Errorf("got %s in %s, titled %s; wanted the variant in another work tree", v.target.ID(), v.target.Dir, v.title)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	v, remove, err = findVersion(t.Context(), repository, workingTree, "tiny")
	if err != nil || v.target.Dir != filepath.Join(repository, "servers", "tiny") {
		t.Errorf("got %s and error %v, wanted the working tree", v.target.Dir, err)
	} else if err := remove(); err != nil {
		t.Error(err)
	}
	v, _, err = findVersion(t.Context(), repository, "image:tiny:1", "tiny/stateful")
	if err != nil || v.target.Docker == nil || v.target.Docker.Image != "tiny:1" || v.target.Env()["MCP_SESSIONS"] != "stateful" || v.title != "image:tiny:1" {
		t.Errorf("got %+v and error %v, wanted the variant in the image", v, err)
	}
	if _, _, err := findVersion(t.Context(), repository, "image:", "tiny"); err == nil || !strings.Contains(err.Error(), "names no image") {
		t.Errorf("got error %v, wanted one that no image is named", err)
	}
	if _, _, err := findVersion(t.Context(), repository, "empty", "tiny"); err == nil || !strings.Contains(err.Error(), "no subject.yaml") {
		t.Errorf("got error %v, wanted one that there is no such server yet", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := findVersion(cancelled, repository, "HEAD", "tiny"); err == nil {
		t.Error("got no error from a cancelled context")
	}
	out, err := exec.Command("git", "-C", repository, "worktree", "list").Output()
	if lines := strings.Count(string(out), "\n"); err != nil || lines != 1 {
		t.Errorf("error %v; wanted the repository's own work tree only, got\n%s", err, out)
	}
}

func TestForGuard(t *testing.T) {
	for _, test := range []struct {
		warmup, duration time.Duration
		want             experiment.Load
	}{
		{0, 0, experiment.Load{Warmup: 4e9, WarmupLimit: 40e9, Duration: 9e9}},
		{0, 2e9, experiment.Load{Warmup: 4e9, WarmupLimit: 40e9, Duration: 2e9}},
		{1e9, 0, experiment.Load{Warmup: 1e9, Duration: 9e9}},
	} {
		w := experiment.Workload{Subjects: []string{"go", "java"}, Reference: "go", Load: experiment.Load{Warmup: 4e9, WarmupLimit: 40e9, Duration: 9e9}}
		if err := forGuard(&w, test.warmup, test.duration); err != nil {
			t.Fatal(err)
		}
		if want := (experiment.Workload{Subjects: []string{"base", "head"}, Reference: "base", Load: test.want}); !reflect.DeepEqual(w, want) {
			t.Errorf("warm-up %s, duration %s: got %+v, wanted %+v", test.warmup, test.duration, w, want)
		}
	}
}

// TestCallLatency: all calls of the workload in the window count, and nothing else.
func TestCallLatency(t *testing.T) {
	raw, start := t.TempDir(), time.Unix(1_800_000_000, 0).UTC()
	slowAtFirst := func(second int) []int64 {
		if second == 0 {
			return []int64{900_000}
		}
		return []int64{1000, 2000}
	}
	statstest.Load{Start: start, Length: 4 * time.Second, Series: []statstest.Series{
		{Series: stats.Series{Method: "tools/call", Tool: "a"}, Durations: slowAtFirst},
		{Series: stats.Series{Method: "tools/list"}, Durations: func(int) []int64 { return []int64{3000} }},
		{Series: stats.Series{Method: "initialize"}, Durations: func(int) []int64 { return []int64{500_000} }},
	}}.Write(t, filepath.Join(raw, "l"))
	h, err := callLatency(result.Launch{
		Window: &result.Window{Start: start.Add(time.Second), End: start.Add(3 * time.Second)},
		Operations: []result.Operation{
			{Method: "tools/call", Tool: "a", Histogram: "l/tools_call.a.hlog"},
			{Method: "tools/list", Histogram: "l/tools_list.hlog"},
			{Method: "initialize", Histogram: "l/initialize.hlog"},
		},
	}, raw)
	if err != nil {
		t.Fatal(err)
	}
	if n, most := h.TotalCount(), h.Max(); n != 6 || most < 3000 || most > 3010 {
		t.Errorf("got %d calls of up to %d µs, wanted 6 of up to 3000", n, most)
	}
}
