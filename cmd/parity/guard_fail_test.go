package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuardSeesASlowerServer makes the server in Go slower by a quarter or more and wants the guard to say so, as a user would see it: two
// versions in a repository, real servers, real load, exit code 1. It takes some three minutes, and means something only while the
// machine does nothing else, other tests included: .ci/run runs it alone.
func TestGuardSeesASlowerServer(t *testing.T) {
	if os.Getenv("PARITY_QUIET") == "" {
		t.Skip("it measures: run it alone, with PARITY_QUIET=1 to say that the machine does nothing else")
	}
	tree := copyTree(t)
	// With a larger n, most of a call is the recursion; with fewer than 10,000 calls in a launch p99, the noisiest, is not judged.
	edit(t, filepath.Join(tree, "experiments", guardExperiment+".yaml"), "arguments: {n: 20}", "arguments: {n: 26}")
	commit(t, tree)
	// fibonacci(n-2) is 0.38 of the work of fibonacci(n).
	edit(t, filepath.Join(tree, "servers", "go", "internal", "tools", "fibonacci.go"), "Result: fibonacci(n)}", "Result: fibonacci(n) + 0*fibonacci(n-2)}")
	t.Chdir(tree)

	const again = 1
	for attempt, times := range [][]string{{"--warmup", "1s", "--duration", "2s"}, {"--warmup", "2s", "--duration", "4s"}} {
		code, out := output(t, append([]string{"guard", "--subject", "go", "--base", "HEAD", "--workload", "calculate_fibonacci",
			"--pairs", "6,10", "--backend", "process"}, times...)...)
		t.Logf("exit code %d\n%s", code, out)
		if code == exitInconclusive && attempt < again {
			t.Log("the machine is too noisy; once more, with longer launches")
			continue
		}
		if code == exitInconclusive {
			t.Skip("the machine is too noisy to see anything on, and the guard said so twice; run it again when nothing else runs")
		}
		if code != exitDifferent || !regexp.MustCompile(`(?m)^FAIL: head is slower: calculate_fibonacci p50 \+[2-9]\d %`).MatchString(out) {
			t.Errorf("wanted exit code %d and a FAIL that names calculate_fibonacci p50, at least 20 %% slower", exitDifferent)
		}
		return
	}
}

// copyTree copies what git knows of the working tree, changes that are not committed included, into a repository of its own. The runs
// in results/ stay behind.
func copyTree(t *testing.T) string {
	t.Helper()
	const root = "../.."
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("list the files: %v", err)
	}
	tree := t.TempDir()
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		path := string(name)
		info, err := os.Lstat(filepath.Join(root, path))
		if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(path, "results/2") {
			continue // deleted, or not needed
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(tree, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

// commit makes the tree a repository with everything in one commit.
func commit(t *testing.T, tree string) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "-m", "as it is"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", tree}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
}

// edit replaces the one place where a file has the old text.
func edit(t *testing.T, file, old, new string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), old); n != 1 {
		t.Fatalf("%s has %q %d times, wanted once", file, old, n)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}
