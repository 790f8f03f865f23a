package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// removeTimeout bounds what goes on after Ctrl-C: git taking back an unfinished checkout, and the removal of a finished one.
const removeTimeout = 30 * time.Second

// Checkout is a git worktree of one commit, in a temporary folder.
type Checkout struct {
	// Dir is the root of the work tree, Commit the full name of the commit.
	Dir, Commit string

	root, parent string
}

// NewCheckout checks a commit, branch or tag of the repository at root out. The caller removes it. The error for a name that git does
// not know says so.
func NewCheckout(ctx context.Context, root, ref string) (*Checkout, error) {
	commit, err := git(ctx, root, "rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("%q is no commit, branch or tag here; if it is a remote's, fetch it first: %w", ref, err)
	}
	parent, err := os.MkdirTemp("", "mcp-parity-guard-")
	if err != nil {
		return nil, err
	}
	c := &Checkout{Dir: filepath.Join(parent, "tree"), Commit: commit, root: root, parent: parent}
	if _, err := git(ctx, root, "worktree", "add", "--quiet", "--detach", c.Dir, commit); err != nil {
		// git takes back what it had done, after a signal too.
		return nil, errors.Join(fmt.Errorf("check %s out: %w", ref, err), os.RemoveAll(parent))
	}
	return c, nil
}

// Remove removes the work tree and what git knows of it, also when ctx has ended.
func (c *Checkout) Remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	// Forced, because builds leave files behind.
	_, err := git(ctx, c.root, "worktree", "remove", "--force", c.Dir)
	if err = errors.Join(err, os.RemoveAll(c.parent)); err != nil {
		return fmt.Errorf("remove the checkout of %s: %w", c.Commit, err)
	}
	return nil
}

// git runs a command of git and returns its output without surrounding space.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = removeTimeout
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), errors.Join(err, ctx.Err())
}
