package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// keepUnused is for how long a build that nobody asks for is kept.
const keepUnused = 14 * 24 * time.Hour

// Host builds and starts commands on this machine: the servers of the process backend, and the load generator whatever the backend is.
type Host struct {
	spawner *spawner
	builds  builds[string]
}

// NewHost returns a host that has started nothing.
func NewHost() *Host { return &Host{spawner: newSpawner()} }

// StartCommand starts the command in a process group of its own, on the CPUs, or on all that there are for none. On Linux the command gets
// SIGTERM when this process is killed or the host is closed; CPUs cannot be chosen elsewhere.
func (h *Host) StartCommand(cmd *exec.Cmd, cpus []int) error { return h.spawner.start(cmd, cpus) }

// Close lets go of what the host needs to start commands. Commands that still run are told to end where StartCommand says so.
func (h *Host) Close() { h.spawner.close() }

// BuildDir returns the folder with the build of the service's present sources, {{out}}, after making it where needed.
//
// A build lives in <user's cache folder>/mcp-parity/build/<name>-<key>:
//
//	out/       {{out}}; made in place, because virtual environments cannot be moved
//	build.log  the output of the build's commands
//	complete   there when the build went well; without it out is made anew
//	lock       held while out is made, against another harness that does the same
func (h *Host) BuildDir(ctx context.Context, s Service) (string, error) {
	return h.builds.get(s.Dir, func() (string, error) {
		out, err := h.buildOnce(ctx, s)
		if err != nil {
			return "", fmt.Errorf("build %s: %w", buildName(s), err)
		}
		return out, nil
	})
}

func (h *Host) buildOnce(ctx context.Context, s Service) (string, error) {
	if s.Process == nil {
		return "", fmt.Errorf("its subject.yaml has no process section; add one, or use the docker backend")
	}
	versions, err := lookAll(ctx, s.Dir, s.Process.Needs)
	if err != nil {
		return "", err
	}
	k := newKey()
	k.add(runtime.GOOS, runtime.GOARCH)
	k.add(versions...)
	for _, command := range append(s.Process.Build, s.Process.Run) {
		k.add(command...)
		k.add("")
	}
	for _, source := range s.Process.Sources {
		if err := k.addFiles(filepath.Join(s.Dir, source)); err != nil {
			return "", fmt.Errorf("read the sources: %w", err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "mcp-parity", "build")
	dir := filepath.Join(cache, buildName(s)+"-"+k.String())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another build of the same: %w", err)
	}
	defer lock.Close()

	out, complete := filepath.Join(dir, "out"), filepath.Join(dir, "complete")
	now := time.Now()
	if err := os.Chtimes(complete, now, now); err == nil {
		return out, nil
	}
	if err := os.RemoveAll(out); err != nil {
		return "", err
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return "", err
	}
	logPath := filepath.Join(dir, "build.log")
	if err := h.runBuild(ctx, s, out, logPath); err != nil {
		return "", &Failure{Err: err, LogPath: logPath, Tail: tail(logPath)}
	}
	if err := os.WriteFile(complete, nil, 0o644); err != nil {
		return "", err
	}
	removeUnused(cache, now.Add(-keepUnused))
	return out, nil
}

// runBuild runs the commands of the build. They have the environment of the harness, as if they had been typed.
func (h *Host) runBuild(ctx context.Context, s Service, out, logPath string) error {
	log, err := os.Create(logPath)
	if err != nil {
		return err
	}
	defer log.Close()
	for _, command := range s.Process.Build {
		words := withOut(command, out)
		line := strings.Join(words, " ")
		fmt.Fprintln(log, "$", line)
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Dir = s.Dir
		cmd.Stdout, cmd.Stderr = log, log
		cmd.Cancel = func() error { killGroup(cmd); return nil }
		if err := h.StartCommand(cmd, nil); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		err := cmd.Wait()
		killGroup(cmd) // such as a compiler's server that would stay
		if err != nil {
			return fmt.Errorf("%s: %w", line, errors.Join(err, context.Cause(ctx)))
		}
	}
	return nil
}

// removeUnused removes the builds in the cache that were last used before the given time. What cannot be removed now is tried again after
// the next build.
func removeUnused(cache string, before time.Time) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	for _, entry := range entries {
		dir := filepath.Join(cache, entry.Name())
		// One that was never completed is as old as its lock.
		info, err := os.Stat(filepath.Join(dir, "complete"))
		if err != nil {
			info, err = os.Stat(filepath.Join(dir, "lock"))
		}
		if err != nil || info.ModTime().After(before) {
			continue
		}
		lock := flock.New(filepath.Join(dir, "lock"))
		if locked, err := lock.TryLock(); err != nil || !locked {
			continue // somebody is at it
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
}
