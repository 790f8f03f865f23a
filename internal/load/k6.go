package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// k6Grace is how much longer than the load k6 may take: it has to start, to make sessions, to wait for the last answers and to
// end the sessions. Servers have 5 s for a call; a minute is for a machine under stress.
const k6Grace = time.Minute

// sampling says which answers are compared with what is expected: those of every 100th iteration of each user, some dozens in a second.
// To compare an answer of 1 KB costs the generator as much CPU time as twenty calls, and it needs that to keep up with the fastest servers.
const sampling = 100

// generatorMemory is how far k6's heap may grow before it collects garbage. Most of what k6 allocates lives for one call, so that to collect
// once in some seconds, rather than each time when the heap has doubled, costs memory, of which there is enough, and saves CPU time.
const generatorMemory = "1GiB"

// request is one load on one server.
type request struct {
	URL      string
	Workload experiment.Workload
	// Expected is a JSON array with the right answer to each call: the structuredContent, or the sorted names of the tools.
	Expected json.RawMessage
	// Shape is experiment.ShapeClosed or ShapeOpen; a search makes a load of its own for each rate. Rate is in iterations per second,
	// open only.
	Shape    string
	Rate     int
	Duration time.Duration
	// Folder gets k6's log, its summary and the histograms.
	Folder string
	// Until is asked again and again whether the load may end; nil for a load that lasts for its whole Duration.
	Until func() bool
}

// env returns what the scripts read.
func (r request) env() ([]string, error) {
	text, err := json.Marshal(r.Workload.Calls)
	if err != nil {
		return nil, err
	}
	env := []string{
		"MCP_URL=" + r.URL + "/mcp",
		"REVISION=" + r.Workload.Revision,
		"SESSIONS=" + r.Workload.Sessions,
		"CALLS=" + string(text),
		"EXPECTED=" + string(r.Expected),
		"SAMPLE=" + strconv.Itoa(sampling),
		"USERS=" + strconv.Itoa(r.Workload.Load.Users),
		"DURATION=" + seconds(r.Duration),
		"K6_MCP_HISTOGRAMS=" + r.Folder,
	}
	if r.Shape == experiment.ShapeOpen {
		return append(env, "RATE="+strconv.Itoa(r.Rate)), nil
	}
	load := r.Workload.Load
	return append(env, "RAMP="+seconds(time.Duration(load.Ramp)), "SLEEP="+seconds(time.Duration(load.Sleep))), nil
}

// k6 runs the script of the shape and returns k6's exit code. Not every code but 0 is an error: what went wrong is in the counts then.
func (c Config) k6(ctx context.Context, r request, cpu *generatorCPU) (exitCode int, err error) {
	if err := os.MkdirAll(r.Folder, 0o755); err != nil {
		return 0, err
	}
	env, err := r.env()
	if err != nil {
		return 0, err
	}
	log, err := os.Create(filepath.Join(r.Folder, "k6.log"))
	if err != nil {
		return 0, err
	}
	defer log.Close()

	limit := r.Duration + k6Grace
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// No port for k6's own API and nothing on the terminal: histograms and counts come from the extension, and the script itself writes
	// the end-of-test summary.
	cmd := exec.CommandContext(timed, c.K6, "run", "--no-usage-report", "--address", "", "--quiet", "--no-color", "--no-thresholds",
		experiment.Script(c.Root, r.Shape))
	cmd.Stdout, cmd.Stderr = log, log
	// Nothing of the user's environment: K6_* variables and k6's own configuration would change what is measured.
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + r.Folder,
		"GOGC=off",
		"GOMEMLIMIT=" + generatorMemory,
		"K6_AUTO_EXTENSION_RESOLUTION=false", // the extension is built in; do not ask a build service for it
	}, env...)
	// k6 has a process group of its own, so that Ctrl-C reaches the harness alone.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

	if err := c.Host.StartCommand(cmd, c.Budget.GeneratorCPUs); err != nil {
		return 0, fmt.Errorf("start k6: %w", err)
	}
	cpu.begin(cmd.Process.Pid)
	asked := endEarly(cmd.Process, r.Until)
	err = cmd.Wait()
	cpu.end(cmd.ProcessState)
	exitCode = cmd.ProcessState.ExitCode()
	if asked() && exitCode == exitInterrupted {
		exitCode, err = 0, nil
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return exitCode, ctx.Err()
	case timed.Err() != nil:
		return exitCode, fmt.Errorf("k6 was still running after %s and was killed", limit)
	case err != nil && !errors.As(err, &exit):
		return exitCode, fmt.Errorf("run k6: %w", err)
	}
	if _, err := os.Stat(filepath.Join(r.Folder, stats.SummaryFile)); err != nil && exitCode != 0 {
		return exitCode, fmt.Errorf("k6 ended with exit code %d and left no summary; see its k6.log", exitCode)
	}
	return exitCode, nil
}

// K6Version asks a k6 for its version.
func K6Version(ctx context.Context, k6 string) (string, error) {
	output, err := exec.CommandContext(ctx, k6, "version").Output()
	if err != nil {
		return "", fmt.Errorf("ask k6 for its version: %w", err)
	}
	words := strings.Fields(string(output))
	if len(words) < 2 || words[0] != "k6" {
		return "", fmt.Errorf("ask k6 for its version: it said %q", output)
	}
	return words[1], nil
}

// seconds writes a duration as the scripts read it: one number with its unit.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
