package result

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
)

// Capture describes this machine and the tree at root. The backend, its engine and k6 are the caller's to fill in.
func Capture(ctx context.Context, root string) (Environment, error) {
	env := Environment{CPUs: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version()}
	cpus, err := cpu.InfoWithContext(ctx)
	if err != nil {
		return env, fmt.Errorf("read the CPU's model: %w", err)
	}
	if len(cpus) > 0 {
		env.CPUModel = cpus[0].ModelName
	}
	if env.Kernel, err = host.KernelVersionWithContext(ctx); err != nil {
		return env, fmt.Errorf("read the kernel's version: %w", err)
	}
	memory, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return env, fmt.Errorf("read the size of memory: %w", err)
	}
	env.MemoryBytes = memory.Total
	swap, err := mem.SwapMemoryWithContext(ctx)
	if err != nil {
		return env, fmt.Errorf("read the size of the swap space: %w", err)
	}
	env.SwapBytes = swap.Total
	average, err := load.AvgWithContext(ctx)
	if err != nil {
		return env, fmt.Errorf("read the load average: %w", err)
	}
	env.LoadBefore = average.Load1
	if system, role, err := host.VirtualizationWithContext(ctx); err == nil && role == "guest" { // not known everywhere
		env.Virtualization = system
	}
	env.Cgroup = cgroupVersion()
	// Where the CPUs have no governor of their own there is no such file.
	if governor, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"); err == nil {
		env.Governor = strings.TrimSpace(string(governor))
	}
	env.Commit, env.Dirty, err = revision(ctx, root)
	return env, err
}

// cgroupVersion is 2 where the controllers belong to the unified hierarchy.
func cgroupVersion() int {
	for version, file := range map[int]string{2: "/sys/fs/cgroup/cgroup.controllers", 1: "/sys/fs/cgroup/cpuacct"} {
		if _, err := os.Stat(file); err == nil {
			return version
		}
	}
	return 0
}

// revision returns the commit of the git checkout at root and whether files differ from it; "" where there is no git or no
// checkout, because an archive of the tree is good enough to measure.
func revision(ctx context.Context, root string) (commit string, dirty bool, err error) {
	head, err := exec.CommandContext(ctx, "git", "-C", root, "rev-parse", "--verify", "HEAD").Output()
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrNotFound) || errors.As(err, &exit) {
		return "", false, ctx.Err()
	}
	if err != nil {
		return "", false, fmt.Errorf("read the git commit: %w", err)
	}
	status, err := exec.CommandContext(ctx, "git", "-C", root, "status", "--porcelain").Output()
	if err != nil {
		return "", false, fmt.Errorf("read the state of the git checkout: %w", err)
	}
	return strings.TrimSpace(string(head)), len(status) > 0, nil
}
