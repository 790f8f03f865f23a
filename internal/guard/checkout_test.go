package guard

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckout(t *testing.T) {
	root := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", root, "-c", "user.name=n", "-c", "user.email=e"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	file := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "file"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "--quiet")
	file("old")
	run("add", "file")
	run("commit", "--quiet", "-m", "old")
	run("tag", "-a", "v1", "-m", "an annotated tag")
	commit := run("rev-parse", "HEAD")
	file("new")

	ctx, cancel := context.WithCancel(t.Context())
	c, err := NewCheckout(ctx, root, "v1")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(c.Dir, "file"))
	if err != nil || string(text) != "old" || c.Commit != commit {
		t.Errorf("got %q, error %v, commit %s; wanted the old file of %s", text, err, c.Commit, commit)
	}
	// A build leaves files behind, and Ctrl-C may have been pressed.
	if err := os.WriteFile(filepath.Join(c.Dir, "built"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := c.Remove(ctx); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(c.Dir)); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", filepath.Dir(c.Dir), err)
	}
	for _, ref := range []string{"nope", "--all", ""} {
		if _, err := NewCheckout(t.Context(), root, ref); err == nil || !strings.Contains(err.Error(), "is no commit") {
			t.Errorf("%q: got error %v, wanted one that it is no commit", ref, err)
		}
	}
	if trees := run("worktree", "list"); strings.Contains(trees, "\n") {
		t.Errorf("work trees are left:\n%s", trees)
	}
}
