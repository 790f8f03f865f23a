// Package backend builds and starts the servers under test, as containers or as child processes, on a few CPUs and with a memory
// limit where that can be had, and tells what they use. Nothing that it starts outlives [Backend.Close].
package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/subject"
)

// The kinds of backend that [New] knows.
const (
	KindAuto    = "auto"    // docker where an engine answers, processes otherwise
	KindDocker  = "docker"  // containers
	KindProcess = "process" // child processes
)

const (
	// startTimeout is how long a service may take until /healthz answers: a cold JVM on one busy CPU takes tens of seconds.
	startTimeout = 2 * time.Minute
	// stopTimeout is how long a service may take after SIGTERM: the 10 s that the contract grants, and some.
	stopTimeout = 15 * time.Second
	// cleanupTimeout bounds what is done after the caller's context has ended, so that nothing is left behind.
	cleanupTimeout = 30 * time.Second
)

// errClosed is what a backend answers after Close.
var errClosed = errors.New("the backend is closed")

// Backend starts services. All methods may be called at the same time.
type Backend interface {
	// Name is [KindDocker] or [KindProcess].
	Name() string
	// Engine is the version of the container engine; empty where there is none.
	Engine() string
	// Notes are sentences for the user: why this backend, and what differs from what was asked for.
	Notes() []string
	// Build makes all that Start needs, unless it is there already. What it found or made once is used until Close, even when the
	// sources change meanwhile. The error of a command that failed has the end of its output, and where the rest is.
	Build(ctx context.Context, s Service) error
	// Start builds the service where needed, starts it and returns when GET /healthz is answered with 200. When it returns an
	// error, which has the end of the service's log, nothing is left running.
	Start(ctx context.Context, s Service) (Instance, error)
	// Close stops what still runs.
	Close() error
}

// Service is something to be started: a server, or what a server needs.
type Service struct {
	// Name is used in messages and for logs, such as "go/stateful".
	Name string
	// Dir is the folder of the service, to which the paths in Docker and Process are relative. Services with the same Dir
	// share a build.
	Dir string
	// Docker and Process say how it is built and run; that of the backend in use must be there.
	Docker  *subject.Docker
	Process *subject.Process
	// Env is the environment, without HOST and PORT, which the backend sets.
	Env map[string]string
	// Port is where the service is to be reached on 127.0.0.1; 0 for a free one.
	Port int
	// CPUs are the numbers of the CPUs that it may run on; none for all.
	CPUs []int
	// Memory is the most that it may use, in bytes; 0 for no limit. The process backend does not enforce it.
	Memory int64
}

// Instance is a service that runs.
type Instance interface {
	// Name is that of the service.
	Name() string
	// URL is where it is reached from here, http://127.0.0.1:<port>.
	URL() string
	// PeerURL is where it is reached from other services of the same backend.
	PeerURL() string
	// LogPath is the file that has its standard output and standard error.
	LogPath() string
	// Image is the digest of the container's image, sha256:<hex>; empty for a process.
	Image() string
	// ReadyAfter is how long it took from its start, when all was built, to the first answer on /healthz.
	ReadyAfter() time.Duration
	// Usage reads what it uses now.
	Usage(ctx context.Context) (Usage, error)
	// Stop sends SIGTERM and waits for the end; after 15 s, or when ctx ends, it kills. It returns the exit code, 128 and the number of the
	// signal where a signal was the end. It is an error that the service had ended before, or had to be killed. Later calls return the same.
	Stop(ctx context.Context) (exitCode int, err error)
}

// Usage is what a service uses, all its processes together.
//
// Processes: CPU is counted to 10 ms, including children that have ended; memory is the resident set of the one process, or the sum of the
// proportional sets (PSS) where there are several. Containers: CPU and memory are those of the control group, without inactive page
// cache; an engine that is not on this machine tells them once a second. The memory of the two backends must not be compared.
type Usage struct {
	// At is when it was read.
	At time.Time
	// CPU is the time used since the start.
	CPU time.Duration
	// Throttled is how long the kernel kept its control group from running because of a quota. The budgets of this package have none, but
	// what the harness runs in may have one; a process shares its control group with the harness. 0 where the kernel does not tell.
	Throttled time.Duration
	// Memory is what is held now, in bytes.
	Memory int64
	// PeakMemory is the most that was seen since the start, in bytes: sampled several times a second, and for one process the
	// kernel's own high-water mark.
	PeakMemory int64
}

// Options are the same for all kinds of backend.
type Options struct {
	// Root is the root of the project.
	Root string
	// LogDir is where logs are kept; it is made where needed. Empty: a new folder for temporary files, which Close removes
	// unless something has failed.
	LogDir string
}

// New returns a backend of the kind that is named.
func New(ctx context.Context, kind string, o Options) (Backend, error) {
	return choose(ctx, kind, o, connect)
}

func choose(ctx context.Context, kind string, o Options, connect connector) (Backend, error) {
	if kind != KindAuto && kind != KindDocker && kind != KindProcess {
		return nil, fmt.Errorf("unknown backend %q; it must be %s, %s or %s", kind, KindAuto, KindDocker, KindProcess)
	}
	logs, err := newLogs(o.LogDir)
	if err != nil {
		return nil, fmt.Errorf("make a folder for logs: %w", err)
	}
	if kind == KindProcess {
		return newProcess(logs, "processes, as asked"), nil
	}
	why := "containers, as asked"
	if kind == KindAuto {
		why = "containers, as there is a Docker engine"
	}
	d, err := newDocker(ctx, o.Root, logs, why, connect)
	if err == nil {
		return d, nil
	}
	if missing := (*noEngineError)(nil); kind == KindAuto && errors.As(err, &missing) {
		return newProcess(logs, "processes, as "+missing.Error()), nil
	}
	return nil, errors.Join(err, logs.close())
}

// ServiceOf is the target as a service that calls the upstream service at the URL.
func ServiceOf(t subject.Target, upstream string) Service {
	env := t.Env()
	env["UPSTREAM_URL"] = upstream
	return Service{Name: t.ID(), Dir: t.Dir, Docker: t.Docker, Process: t.Process, Env: env}
}

// Upstream is the service that fetch_external_data calls; see the package upstream.
func Upstream(root string) Service {
	return Service{
		Name:   "upstream",
		Dir:    filepath.Join(root, "cmd", "upstream"),
		Docker: &subject.Docker{Context: "../..", Dockerfile: "cmd/upstream/Dockerfile"},
		Process: &subject.Process{
			Needs:   []subject.Need{{Command: []string{"go", "version"}, Version: "1.26", Get: "https://go.dev/dl/"}},
			Sources: []string{".", "../../internal/upstream"},
			Build:   [][]string{{"go", "build", "-o", "{{out}}/upstream", "."}},
			Run:     []string{"{{out}}/upstream"},
		},
	}
}

// buildName names the builds of a service, which its variants share.
func buildName(s Service) string { return filepath.Base(s.Dir) }

// environment is the service's environment with the address to listen on.
func environment(s Service, host string, port int) map[string]string {
	env := maps.Clone(s.Env)
	if env == nil {
		env = map[string]string{}
	}
	env["HOST"] = host
	env["PORT"] = strconv.Itoa(port)
	return env
}

func localURL(port int) string { return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// cleanupContext is for what must be done even when ctx has ended.
func cleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}
