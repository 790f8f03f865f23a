package backend

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/mcp-parity/mcp-parity/internal/subject"
)

// Where the host's network cannot be used, services reach one another by name, and are published here.
func TestServicesInANetworkOfTheirOwn(t *testing.T) {
	d := openDocker(t).(*dockerBackend)
	if err := d.makeNetwork(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, mark := testService(t)
	one := start(t, d, s)
	s.Name = "test/other"
	other := start(t, d, s)
	if one.PeerURL() != "http://test-server:8080" || strings.HasPrefix(one.URL(), one.PeerURL()) {
		t.Errorf("at %s and, for others, %s", one.URL(), one.PeerURL())
	}
	if env := get(t, one.URL()+"/env"); !strings.Contains(env, `"HOST=0.0.0.0"`) {
		t.Errorf("environment %s", env)
	}
	if got := get(t, other.URL()+"/get?url="+url.QueryEscape(one.PeerURL()+"/env")); !strings.Contains(got, mark) {
		t.Errorf("the other service was told %s", got)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	expectNothingLeft(t, d, mark)
	d.network = "" // gone: Close is called once more in the end
}

// An image that was built elsewhere is used as it is, whatever becomes of its tag.
func TestImageBuiltElsewhere(t *testing.T) {
	d := openDocker(t).(*dockerBackend)
	s, mark := testService(t)
	built, err := d.build(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	image, engine := "mcp-parity/test-elsewhere:"+strings.ToLower(t.Name()), d.provider.Client()
	if _, err := engine.ImageTag(t.Context(), client.ImageTagOptions{Source: built, Target: image}); err != nil {
		t.Fatal(err)
	}
	s.Dir, s.Docker = t.TempDir(), &subject.Docker{Image: image} // there is nothing to build
	if err := d.Build(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.ImageRemove(t.Context(), image, client.ImageRemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if env := get(t, start(t, d, s).URL()+"/env"); !strings.Contains(env, mark) {
		t.Errorf("environment %s", env)
	}
	s.Docker = &subject.Docker{Image: image + "-2"}
	if err := d.Build(t.Context(), s); err == nil || !strings.Contains(err.Error(), "docker pull "+image+"-2") {
		t.Errorf("an image that is not there: %v", err)
	}
}

func TestMemoryLimitIsEnforced(t *testing.T) {
	d := openDocker(t)
	s, mark := testService(t)
	s.Memory = 48 << 20
	i := start(t, d, s)
	for range 3 { // 64 MiB each
		if resp, err := http.Get(i.URL() + "/hold"); err == nil {
			_ = resp.Body.Close()
		}
	}
	eventually(t, "it has ended", func() bool {
		_, err := i.Usage(t.Context())
		return errors.Is(err, errEnded)
	})
	if code, err := i.Stop(t.Context()); code != 137 || !errors.Is(err, errOutOfMemory) {
		t.Errorf("exit code %d (%v)", code, err)
	}
	expectNothingLeft(t, d, mark)
}

func TestEngineAndKernelTellTheSame(t *testing.T) {
	d := openDocker(t).(*dockerBackend)
	if d.network != "" {
		t.Skip("the engine is not on this machine, so that its control groups cannot be read")
	}
	s, _ := testService(t)
	i := start(t, d, s).(*dockerInstance)
	get(t, i.URL()+"/burn")
	if i.group == nil {
		t.Fatal("the container's control group was not found")
	}
	kernel := usage(t, i)
	engine, err := (&dockerInstance{backend: d, id: i.id, name: i.name}).read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := (engine.CPU - kernel.CPU).Abs(); diff > 100*time.Millisecond {
		t.Errorf("CPU: %v from the engine, %v from the kernel", engine.CPU, kernel.CPU)
	}
	if image := i.Image(); !strings.HasPrefix(image, "sha256:") || i.ReadyAfter() <= 0 {
		t.Errorf("image %q, ready after %v", image, i.ReadyAfter())
	}
	if diff := engine.Memory - kernel.Memory; diff < -8<<20 || diff > 8<<20 {
		t.Errorf("memory: %d bytes from the engine, %d from the kernel", engine.Memory, kernel.Memory)
	}
}

func TestControlGroupFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cpuacct.usage": "1500\n", "memory.usage_in_bytes": "1000\n",
		"memory.stat": "inactive_file 400\ntotal_inactive_file 300\n",
		"cpu.stat":    "usage_usec 2500\nuser_usec 1\nnr_throttled 3\nthrottled_usec 70\nthrottled_time 90\n", "memory.current": "2000\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	at := func(controllers ...string) throttling {
		return findThrottling(func(controller string) (string, bool) { return dir, slices.Contains(controllers, controller) })
	}
	for _, test := range []struct {
		group controlGroup
		want  Usage
	}{
		{
			controlGroup{cpuFile: filepath.Join(dir, "cpuacct.usage"), memoryDir: dir, throttling: at("cpu", "")},
			Usage{CPU: 1500 * time.Nanosecond, Throttled: 90 * time.Nanosecond, Memory: 700},
		},
		{
			controlGroup{cpuFile: filepath.Join(dir, "cpu.stat"), memoryDir: dir, throttling: at(""), unified: true},
			Usage{CPU: 2500 * time.Microsecond, Throttled: 70 * time.Microsecond, Memory: 1600},
		},
		{
			controlGroup{cpuFile: filepath.Join(dir, "cpu.stat"), memoryDir: dir, throttling: at(), unified: true},
			Usage{CPU: 2500 * time.Microsecond, Memory: 1600},
		},
	} {
		got, err := test.group.read()
		got.At = time.Time{}
		if err != nil || got != test.want {
			t.Errorf("unified %v: %+v (%v), want %+v", test.group.unified, got, err, test.want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "memory.stat")); err != nil {
		t.Fatal(err)
	}
	if _, err := (controlGroup{cpuFile: filepath.Join(dir, "cpu.stat"), memoryDir: dir, unified: true}).read(); err == nil {
		t.Error("no error without memory.stat")
	}
}

func TestHostNetwork(t *testing.T) {
	for _, test := range []struct {
		daemon, system string
		security       []string
		want           bool
	}{
		{"unix:///var/run/docker.sock", "Debian GNU/Linux 13", []string{"name=seccomp,profile=default"}, true},
		{"unix:///run/user/1000/docker.sock", "Debian GNU/Linux 13", []string{"name=rootless"}, false},
		{"unix:///home/u/.docker/desktop/docker.sock", "Docker Desktop", nil, false},
		{"tcp://192.0.2.1:2376", "Debian GNU/Linux 13", nil, false},
	} {
		if got := sharesHostNetwork("linux", test.daemon, test.system, test.security); got != test.want {
			t.Errorf("%s: %v", test.daemon, got)
		}
	}
	if sharesHostNetwork("darwin", "unix:///var/run/docker.sock", "Alpine", nil) {
		t.Error("macOS has no containers of its own")
	}
}

func TestStandInsAreRead(t *testing.T) {
	images, err := readStandIns(root)
	if err != nil || images["GO_IMAGE"] != "mcp-parity/base-go" || len(images) != 6 {
		t.Errorf("got %v (%v)", images, err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(standIns)), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, standIns), "# comment\n\nGO_IMAGE mcp-parity/base-go\n")
	if _, err := readStandIns(dir); err == nil || !strings.Contains(err.Error(), "ARGUMENT=image") {
		t.Errorf("got %v", err)
	}
}
