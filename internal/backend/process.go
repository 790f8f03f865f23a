package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// processBackend is the backend that starts child processes. It runs on Linux and macOS.
type processBackend struct {
	notes []string
	logs  *logs
	ports ports
	host  *Host
	*instances
}

func newProcess(logs *logs, why string) *processBackend {
	notes := []string{why, "memory limits are not enforced on processes"}
	if runtime.GOOS != "linux" {
		notes = append(notes, "processes are not bound to CPUs on "+runtime.GOOS)
	}
	return &processBackend{notes: notes, logs: logs, host: NewHost(), instances: newInstances()}
}

func (p *processBackend) Name() string    { return KindProcess }
func (p *processBackend) Engine() string  { return "" }
func (p *processBackend) Notes() []string { return p.notes }

func (p *processBackend) Build(ctx context.Context, s Service) error {
	ctx, done, err := p.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = p.host.BuildDir(ctx, s)
	return err
}

// baseEnvironment is what a service gets of the environment of the harness: enough to find programs and files. All else is left out, so
// that a setting of one machine (GOGC, NODE_OPTIONS, JAVA_TOOL_OPTIONS, a proxy) cannot change what is measured. Builds get all of it.
func baseEnvironment() []string {
	env := []string{"LANG=C.UTF-8"} // Java 17 takes the encoding of standard output from it
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "JAVA_HOME"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (p *processBackend) Start(ctx context.Context, s Service) (Instance, error) {
	ctx, done, err := p.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out, err := p.host.BuildDir(ctx, s)
	if err != nil {
		return nil, err
	}
	port, err := p.ports.take(s.Port)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	log, err := p.logs.create(s.Name)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	defer log.Close() // the child has its own descriptor

	words := withOut(s.Process.Run, out)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = out
	cmd.Env = baseEnvironment()
	env := environment(s, "127.0.0.1", port)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, name+"="+env[name])
	}
	cmd.Stdout, cmd.Stderr = log, log
	started := time.Now()
	if err := p.host.StartCommand(cmd, s.CPUs); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}

	i := &processInstance{backend: p, name: s.Name, port: port, log: log.Name(), cmd: cmd, ended: make(chan struct{})}
	i.usage = watchTree(cmd.Process.Pid, i.ended)
	go i.wait()
	if err := awaitHealthy(ctx, i.URL(), i.ended); err != nil {
		if errors.Is(err, errEnded) {
			err = fmt.Errorf("%w with exit code %d before it was ready", err, exitCode(i.cmd.ProcessState))
		}
		stopped, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel() // a service that did not get ready has nothing to finish
		_, _ = i.Stop(stopped)
		return nil, p.logs.failed(i.log, fmt.Errorf("start %s: %w", s.Name, err))
	}
	i.readyAfter = time.Since(started)
	p.add(i)
	return i, nil
}

func (p *processBackend) Close() error {
	err := p.stopAll()
	p.host.Close()
	return errors.Join(err, p.logs.close())
}

// processInstance is a service that runs as a group of processes.
type processInstance struct {
	backend *processBackend
	name    string
	port    int
	log     string
	cmd     *exec.Cmd
	usage   *treeUsage

	readyAfter time.Duration
	// ended is closed when the main process has been reaped and the rest of its group killed.
	ended chan struct{}

	stop    sync.Once
	code    int
	stopErr error
}

func (i *processInstance) Name() string    { return i.name }
func (i *processInstance) URL() string     { return localURL(i.port) }
func (i *processInstance) PeerURL() string { return i.URL() }
func (i *processInstance) LogPath() string { return i.log }
func (i *processInstance) Image() string   { return "" }

func (i *processInstance) ReadyAfter() time.Duration { return i.readyAfter }

func (i *processInstance) Usage(ctx context.Context) (Usage, error) {
	u, err := i.usage.read()
	if errors.Is(err, errEnded) {
		select { // until the main process has been reaped, Stop would not know that it had ended by itself
		case <-i.ended:
		case <-ctx.Done():
		}
	}
	if err != nil {
		return Usage{}, fmt.Errorf("usage of %s: %w", i.name, err)
	}
	return u, nil
}

// wait reaps the main process, then ends what it left behind.
func (i *processInstance) wait() {
	_ = i.cmd.Wait() // how it ended is in ProcessState
	killGroup(i.cmd)
	close(i.ended)
}

func (i *processInstance) Stop(ctx context.Context) (int, error) {
	i.stop.Do(func() {
		defer i.backend.remove(i)
		select {
		case <-i.ended:
			i.stopErr = errors.New("it had ended by itself")
		default:
			i.stopErr = i.terminate(ctx)
		}
		i.code = exitCode(i.cmd.ProcessState)
		if i.stopErr != nil {
			i.stopErr = i.backend.logs.failed(i.log, fmt.Errorf("stop %s: %w (exit code %d)", i.name, i.stopErr, i.code))
		}
	})
	return i.code, i.stopErr
}

// terminate asks the main process to end and waits for it, not for ever.
func (i *processInstance) terminate(ctx context.Context) error {
	_ = i.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has just ended, which is seen below
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-i.ended:
		return nil
	case <-timer.C:
		killGroup(i.cmd)
		<-i.ended
		return fmt.Errorf("it did not end within %v of SIGTERM and was killed", stopTimeout)
	case <-ctx.Done():
		killGroup(i.cmd)
		<-i.ended
		return fmt.Errorf("it was killed, as the wait for its end was given up: %w", context.Cause(ctx))
	}
}

// killGroup kills all processes of the command's group. That none is left is no error.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// exitCode is that of a process, or what a shell would say of one that a signal ended.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// withOut puts the path of the build's folder into a command.
func withOut(words []string, out string) []string {
	replaced := make([]string, len(words))
	for i, word := range words {
		replaced[i] = strings.ReplaceAll(word, "{{out}}", filepath.ToSlash(out))
	}
	return replaced
}
