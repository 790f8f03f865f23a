package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

// Labels of every container, for whoever looks at the engine.
const (
	labelRun     = "io.mcp-parity.run"     // one value per backend
	labelService = "io.mcp-parity.service" // the service's name
)

// containerPort is where a service listens inside a network of containers.
const containerPort = 8080

// engineTimeout bounds the first contact: an engine that takes longer is not there.
const engineTimeout = 20 * time.Second

// dockerBackend is the backend that starts containers.
//
// Where the engine runs on this machine, containers use the host's network, with HOST=127.0.0.1 and a free PORT: then no proxy and no
// bridge stand between the load and the server. Elsewhere they get a network of their own, and ports published on 127.0.0.1.
type dockerBackend struct {
	provider *testcontainers.DockerProvider
	engine   string
	notes    []string
	logs     *logs
	ports    ports
	run      string
	// network is empty where the host's is used.
	network string
	// buildArgs are the stand-ins for base images.
	buildArgs map[string]*string
	builds    builds[string]
	*instances
}

func newDocker(ctx context.Context, root string, logs *logs, why string, connect connector) (*dockerBackend, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, engineTimeout, fmt.Errorf("no answer within %v", engineTimeout))
	defer cancel()
	tclog.SetDefault(tclog.NewNoopLogger()) // it would tell on standard error what it connects to

	images, err := readStandIns(root)
	if err != nil {
		return nil, err
	}
	if err := switchOffReaper(ctx, images); err != nil {
		return nil, err
	}
	provider, info, err := connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; install Docker and start it (https://docs.docker.com/engine/install/), or use the process backend", err)
	}
	d := &dockerBackend{
		provider: provider, engine: info.ServerVersion, logs: logs, run: uuid.NewString(), instances: newInstances(),
		notes: []string{fmt.Sprintf("%s (%s)", why, info.ServerVersion)},
	}
	if missing, err := absent(ctx, provider.Client(), images); err != nil {
		return nil, err
	} else if len(missing) == 0 {
		d.buildArgs = map[string]*string{}
		for arg, image := range images {
			d.buildArgs[arg] = &image
		}
		d.notes = append(d.notes, "base images are the stand-ins that compose/bases/build.sh has made, not the official ones")
	}
	if !sharesHostNetwork(runtime.GOOS, provider.Client().DaemonHost(), info.OperatingSystem, info.SecurityOptions) {
		if err := d.makeNetwork(ctx); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// connector returns the engine that there is; the error is a noEngineError where there is none.
type connector func(context.Context) (*testcontainers.DockerProvider, system.Info, error)

// noEngineError says that no engine answers.
type noEngineError struct{ err error }

func (e *noEngineError) Error() string {
	// The library's words may have lines.
	return fmt.Sprintf("no Docker engine answers (%s)", strings.Join(strings.Fields(e.err.Error()), " "))
}

func (e *noEngineError) Unwrap() error { return e.err }

// connect returns the engine that testcontainers finds. The library has no context for this, and an engine that does not answer would
// be waited for longer than anybody wants.
func connect(ctx context.Context) (*testcontainers.DockerProvider, system.Info, error) {
	type result struct {
		provider *testcontainers.DockerProvider
		info     system.Info
		err      error
	}
	connected := make(chan result, 1)
	go func() {
		provider, err := testcontainers.NewDockerProvider()
		if err != nil {
			connected <- result{err: err}
			return
		}
		info, err := provider.Client().Info(ctx, client.InfoOptions{})
		connected <- result{provider, info.Info, err}
	}()
	var r result
	select {
	case r = <-connected:
	case <-ctx.Done():
		r.err = context.Cause(ctx)
	}
	if r.err != nil {
		return nil, system.Info{}, &noEngineError{r.err}
	}
	return r.provider, r.info, nil
}

// sharesHostNetwork tells whether a container in the "host" network listens on this machine's loopback: not in the virtual machine of
// Docker Desktop, not in the network namespace of a rootless engine, not on another machine.
func sharesHostNetwork(goos, daemon, system string, security []string) bool {
	rootless := slices.ContainsFunc(security, func(s string) bool { return strings.Contains(s, "rootless") })
	return goos == "linux" && strings.HasPrefix(daemon, "unix://") && system != "Docker Desktop" && !rootless
}

func (d *dockerBackend) makeNetwork(ctx context.Context) error {
	name := "mcp-parity-" + d.run
	_, err := d.provider.Client().NetworkCreate(ctx, name, client.NetworkCreateOptions{
		Driver: "bridge", Labels: map[string]string{labelRun: d.run},
	})
	if err != nil {
		return fmt.Errorf("make a network: %w", err)
	}
	d.network = name
	return nil
}

func (d *dockerBackend) Name() string    { return KindDocker }
func (d *dockerBackend) Engine() string  { return d.engine }
func (d *dockerBackend) Notes() []string { return d.notes }

func (d *dockerBackend) Build(ctx context.Context, s Service) error {
	ctx, done, err := d.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = d.build(ctx, s)
	return err
}

func (d *dockerBackend) Start(ctx context.Context, s Service) (Instance, error) {
	ctx, done, err := d.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	image, err := d.build(ctx, s)
	if err != nil {
		return nil, err
	}
	port, err := d.ports.take(s.Port)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	log, err := d.logs.create(s.Name)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	i := &dockerInstance{backend: d, name: s.Name, port: port, log: log, ended: make(chan struct{}), followed: make(chan struct{})}
	c, err := d.provider.RunContainer(ctx, d.request(s, i, image))
	if c != nil { // also when it could not be started
		i.id, i.container = c.GetContainerID(), c
	}
	if err == nil {
		go i.follow()
		go i.wait()
		if err = awaitHealthy(ctx, i.URL(), i.ended); err == nil {
			i.readyAfter = time.Since(i.started)
			inspected, err := c.Inspect(ctx)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("start %s: %w", s.Name, err), i.remove(ctx))
			}
			i.image = inspected.Image
			if group, err := findControlGroup(inspected.State.Pid, i.id); err == nil {
				i.group = &group
			}
			go i.sample()
			d.add(i)
			return i, nil
		}
		if errors.Is(err, errEnded) {
			code, outOfMemory := i.end(ctx)
			err = fmt.Errorf("%w with exit code %d before it was ready", err, code)
			if outOfMemory {
				err = fmt.Errorf("%w: %w", err, errOutOfMemory)
			}
		}
	} else {
		close(i.followed)
	}
	if strings.Contains(err.Error(), "reaper") {
		err = fmt.Errorf("%w; where its image cannot be pulled, set TESTCONTAINERS_RYUK_DISABLED=true", err)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx) // the library's words about it are long
	}
	err = errors.Join(err, i.remove(ctx))
	return nil, d.logs.failed(log.Name(), fmt.Errorf("start %s: %w", s.Name, err))
}

// request describes the container.
func (d *dockerBackend) request(s Service, i *dockerInstance, image string) testcontainers.ContainerRequest {
	host, port := "127.0.0.1", i.port
	if d.network != "" {
		host, port = "0.0.0.0", containerPort
	}
	exposed := network.MustParsePort(fmt.Sprintf("%d/tcp", port))
	request := testcontainers.ContainerRequest{
		Image:  image,
		Env:    environment(s, host, port),
		Labels: map[string]string{labelRun: d.run, labelService: s.Name},
		LifecycleHooks: []testcontainers.ContainerLifecycleHooks{{
			PreStarts: []testcontainers.ContainerHook{func(context.Context, testcontainers.Container) error {
				i.started = time.Now()
				return nil
			}},
		}},
		ConfigModifier: func(c *container.Config) {
			// The image's check would run in the container's budget, in the middle of what is measured.
			c.Healthcheck = &container.HealthConfig{Test: []string{"NONE"}}
			c.StopSignal = "SIGTERM"
		},
		HostConfigModifier: func(c *container.HostConfig) {
			for _, cpu := range s.CPUs {
				c.CpusetCpus = strings.TrimPrefix(fmt.Sprintf("%s,%d", c.CpusetCpus, cpu), ",")
			}
			c.Memory, c.MemorySwap = s.Memory, s.Memory // equal: no swap on top
			if d.network == "" {
				c.NetworkMode = network.NetworkHost
				return
			}
			c.PortBindings = network.PortMap{exposed: {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: fmt.Sprint(i.port)}}}
		},
	}
	if d.network != "" {
		i.peer = fmt.Sprintf("http://%s:%d", alias(s.Name), port)
		request.ExposedPorts = []string{exposed.String()}
		request.Networks = []string{d.network}
		request.NetworkAliases = map[string][]string{d.network: {alias(s.Name)}}
	}
	return request
}

// alias is the service's name as a name of a host.
func alias(name string) string { return strings.ReplaceAll(name, "/", "-") }

func (d *dockerBackend) Close() error {
	errs := []error{d.stopAll()}
	if d.network != "" {
		ctx, cancel := cleanupContext(context.Background())
		defer cancel()
		if _, err := d.provider.Client().NetworkRemove(ctx, d.network, client.NetworkRemoveOptions{}); err != nil {
			errs = append(errs, fmt.Errorf("remove the network: %w", err))
		}
	}
	return errors.Join(append(errs, d.logs.close(), d.provider.Close())...)
}

// dockerInstance is a service that runs in a container.
type dockerInstance struct {
	backend   *dockerBackend
	name      string
	port      int
	peer      string // empty: URL
	id        string
	container testcontainers.Container
	log       *os.File
	image     string
	ended     chan struct{} // closed when the container does not run any more
	followed  chan struct{} // closed when the log is complete

	// group is nil where the engine must be asked.
	group *controlGroup

	started    time.Time
	readyAfter time.Duration

	mu   sync.Mutex
	peak int64

	stop    sync.Once
	code    int
	stopErr error
}

func (i *dockerInstance) Name() string    { return i.name }
func (i *dockerInstance) URL() string     { return localURL(i.port) }
func (i *dockerInstance) LogPath() string { return i.log.Name() }
func (i *dockerInstance) Image() string   { return i.image }

func (i *dockerInstance) ReadyAfter() time.Duration { return i.readyAfter }

func (i *dockerInstance) PeerURL() string {
	if i.peer != "" {
		return i.peer
	}
	return i.URL()
}

// follow writes the container's output into the log until its end.
func (i *dockerInstance) follow() {
	defer close(i.followed)
	output, err := i.backend.provider.Client().ContainerLogs(context.Background(), i.id, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Follow: true,
	})
	if err == nil {
		defer output.Close()
		_, err = stdcopy.StdCopy(i.log, i.log, output)
	}
	if err != nil {
		fmt.Fprintf(i.log, "(the log ends here: %v)\n", err)
	}
}

// wait waits for the container's end. When the engine goes away meanwhile, that is the end too.
func (i *dockerInstance) wait() {
	defer close(i.ended)
	ended := i.backend.provider.Client().ContainerWait(context.Background(), i.id, client.ContainerWaitOptions{})
	select {
	case <-ended.Result:
	case <-ended.Error:
	}
}

func (i *dockerInstance) Usage(ctx context.Context) (Usage, error) {
	u, err := i.read(ctx)
	if err != nil {
		select {
		case <-i.ended:
			err = errEnded
		default:
		}
		return Usage{}, fmt.Errorf("usage of %s: %w", i.name, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.peak = max(i.peak, u.Memory)
	u.PeakMemory = i.peak
	return u, nil
}

func (i *dockerInstance) read(ctx context.Context) (Usage, error) {
	if i.group != nil {
		return i.group.read()
	}
	result, err := i.backend.provider.Client().ContainerStats(ctx, i.id, client.ContainerStatsOptions{})
	if err != nil {
		return Usage{}, err
	}
	defer result.Body.Close()
	var stats container.StatsResponse
	if err := json.NewDecoder(result.Body).Decode(&stats); err != nil {
		return Usage{}, err
	}
	memory := activeMemory(stats.MemoryStats)
	if memory == 0 {
		return Usage{}, errEnded // the engine answers with zeros
	}
	return Usage{
		At:        stats.Read,
		CPU:       time.Duration(stats.CPUStats.CPUUsage.TotalUsage),
		Throttled: time.Duration(stats.CPUStats.ThrottlingData.ThrottledTime),
		Memory:    memory,
	}, nil
}

// activeMemory leaves out the same as controlGroup.read. The name of the counter is that of the version of control groups.
func activeMemory(m container.MemoryStats) int64 {
	for _, name := range []string{"total_inactive_file", "inactive_file"} { // v1, v2
		if cache, ok := m.Stats[name]; ok {
			return int64(m.Usage - min(cache, m.Usage))
		}
	}
	return int64(m.Usage)
}

// sample reads memory for the peak. The kernel's own peak would count page cache.
func (i *dockerInstance) sample() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	period := samplePeriod
	if i.group == nil {
		period = engineSamplePeriod
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-i.ended:
			return
		case <-tick.C:
			_, _ = i.Usage(ctx) // it keeps the peak; that the container has ended is found out by Stop
		}
	}
}

// engineSamplePeriod is that at which an engine collects.
const engineSamplePeriod = time.Second

func (i *dockerInstance) Stop(ctx context.Context) (int, error) {
	i.stop.Do(func() {
		err := i.terminate(ctx)
		if err := errors.Join(err, i.remove(ctx)); err != nil {
			i.stopErr = i.backend.logs.failed(i.log.Name(), fmt.Errorf("stop %s: %w (exit code %d)", i.name, err, i.code))
		}
	})
	return i.code, i.stopErr
}

// terminate asks the container to end, and finds out how it did.
func (i *dockerInstance) terminate(ctx context.Context) error {
	select {
	case <-i.ended:
		var outOfMemory bool
		if i.code, outOfMemory = i.end(ctx); outOfMemory {
			return errOutOfMemory
		}
		return errors.New("it had ended by itself")
	default:
	}
	grace := stopTimeout
	if err := i.container.Stop(ctx, &grace); err != nil {
		return i.kill(ctx, err)
	}
	var outOfMemory bool
	i.code, outOfMemory = i.end(ctx)
	switch {
	case outOfMemory:
		return errOutOfMemory
	case i.code == 128+9:
		return fmt.Errorf("it did not end within %v of SIGTERM and was killed", stopTimeout)
	default:
		return nil
	}
}

// kill ends a container that could not be stopped.
func (i *dockerInstance) kill(ctx context.Context, why error) error {
	if cause := context.Cause(ctx); cause != nil { // the library's words about it are long
		why = fmt.Errorf("it was killed, as the wait for its end was given up: %w", cause)
	}
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	_, err := i.backend.provider.Client().ContainerKill(ctx, i.id, client.ContainerKillOptions{Signal: "SIGKILL"})
	select {
	case <-i.ended:
	case <-ctx.Done():
	}
	i.code, _ = i.end(ctx)
	return errors.Join(why, err)
}

var errOutOfMemory = errors.New("it reached its memory limit and was killed")

// end tells how the container ended, even when ctx has: its exit code, -1 where the engine does not know, and whether the memory limit was
// why.
func (i *dockerInstance) end(ctx context.Context) (code int, outOfMemory bool) {
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	state, err := i.container.State(ctx)
	if err != nil || state.Running {
		return -1, false
	}
	return state.ExitCode, state.OOMKilled
}

// remove removes the container, running or not, and completes the log. It does so even when ctx has ended.
func (i *dockerInstance) remove(ctx context.Context) error {
	defer i.backend.instances.remove(i)
	ctx, cancel := cleanupContext(ctx)
	defer cancel()
	var err error
	if i.id != "" {
		_, err = i.backend.provider.Client().ContainerRemove(ctx, i.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	}
	select {
	case <-i.followed:
	case <-ctx.Done():
	}
	return errors.Join(err, i.log.Close())
}
