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
	"syscall"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
)

// k6Grace is how much longer than the load k6 may take: it has to start, to make sessions, to wait for the last answers and to
// end the sessions. Servers have 5 s for a call; a minute is for a machine under stress.
const k6Grace = time.Minute

// sampling says which answers are compared with what is expected: the first of each user and every 20th after it. Comparing all
// would cost the generator CPU time that it needs to keep up with the fastest servers.
const sampling = 20

// request is one load on one server.
type request struct {
	URL      string
	Load     experiment.Load
	Workload experiment.Workload
	// Expected is the JSON text of the right answer: the structuredContent, or the sorted names of the tools.
	Expected json.RawMessage
	// Folder gets k6's log, its summary and the histograms.
	Folder string
}

// outcome is what k6 did.
type outcome struct {
	Summary   stats.Summary
	Generator result.Generator
}

// k6 runs the script and waits for its end. A run that ended in failure has an outcome too, as far as it is known.
func (c Config) k6(ctx context.Context, r request) (outcome, error) {
	arguments, err := r.Workload.ArgumentsJSON()
	if err != nil {
		return outcome{}, err
	}
	call := map[string]any{"tool": r.Workload.Tool, "arguments": arguments}
	if r.Workload.Method != "" {
		call = map[string]any{"method": r.Workload.Method}
	}
	workload, err := json.Marshal(call)
	if err != nil {
		return outcome{}, err
	}
	log, err := os.Create(filepath.Join(r.Folder, "k6.log"))
	if err != nil {
		return outcome{}, err
	}
	defer log.Close()

	limit := time.Duration(r.Load.Warmup+r.Load.Duration) + k6Grace
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// No port for k6's own API, no summary on the terminal, and nothing but the script: histograms and counts come from the extension.
	cmd := exec.CommandContext(timed, c.K6, "run", "--no-usage-report", "--address", "", "--quiet", "--no-color",
		"--summary-mode", "disabled", "--no-thresholds", c.Script)
	cmd.Stdout, cmd.Stderr = log, log
	// Nothing of the user's environment: K6_* variables and k6's own configuration would change what is measured.
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + r.Folder,
		"K6_AUTO_EXTENSION_RESOLUTION=false", // the extension is built in; do not ask a build service for it
		"MCP_URL=" + r.URL + "/mcp",
		"USERS=" + strconv.Itoa(r.Load.Users),
		"WARMUP=" + seconds(r.Load.Warmup),
		"DURATION=" + seconds(r.Load.Duration),
		"WORKLOAD=" + string(workload),
		"EXPECTED=" + string(r.Expected),
		"SAMPLE=" + strconv.Itoa(sampling),
		"K6_MCP_HISTOGRAMS=" + r.Folder,
	}
	// k6 has a process group of its own, so that Ctrl-C reaches the harness alone.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

	started := time.Now()
	if err := c.Host.StartCommand(cmd, c.Budget.GeneratorCPUs); err != nil {
		return outcome{}, fmt.Errorf("start k6: %w", err)
	}
	err = cmd.Wait()
	var out outcome
	out.Generator = result.Generator{
		CPUSeconds:  (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		WallSeconds: time.Since(started).Seconds(),
		ExitCode:    cmd.ProcessState.ExitCode(),
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case timed.Err() != nil:
		return out, fmt.Errorf("k6 was still running after %s and was killed", limit)
	case err != nil && !errors.As(err, &exit):
		return out, fmt.Errorf("run k6: %w", err)
	}
	out.Summary, err = stats.ReadSummary(r.Folder)
	if err != nil && out.Generator.ExitCode != 0 {
		return out, fmt.Errorf("k6 ended with exit code %d and left no summary; see its k6.log", out.Generator.ExitCode)
	}
	return out, err
}

// seconds writes a duration as the script reads it: one number with its unit.
func seconds(d experiment.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
