package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// controlGroup reads a container's counters straight from the kernel, where the engine runs on this machine. The engine's own answer takes
// up to a second: it gives out what it collects once a second.
type controlGroup struct {
	// cpuFile and memoryDir are the file with the CPU time, and the folder of the memory controller.
	cpuFile, memoryDir string
	throttling         throttling
	// unified is version 2 of control groups, which has other names.
	unified bool
}

// throttling reads how long a control group was kept from running.
type throttling struct {
	// file is empty where the kernel does not tell.
	file string
	// unified is version 2 of control groups.
	unified bool
}

// findControlGroup finds that of a container by its main process, which must be visible here.
func findControlGroup(pid int, container string) (controlGroup, error) {
	folder, err := controlGroupFolders(pid, container)
	if err != nil {
		return controlGroup{}, err
	}
	cpu, hasCPU := folder("cpuacct")
	memory, hasMemory := folder("memory")
	if hasCPU && hasMemory {
		return controlGroup{cpuFile: filepath.Join(cpu, "cpuacct.usage"), memoryDir: memory, throttling: findThrottling(folder)}, nil
	}
	if unified, ok := folder(""); ok {
		return controlGroup{cpuFile: filepath.Join(unified, "cpu.stat"), memoryDir: unified, unified: true, throttling: findThrottling(folder)}, nil
	}
	return controlGroup{}, errors.New("its control group is not mounted here")
}

// controlGroupFolders returns a function that knows where the control group of a process for a controller is; "" stands for that of
// version 2. The path of the group must contain a text, which may be empty.
func controlGroupFolders(pid int, contained string) (func(controller string) (string, bool), error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return nil, err
	}
	groups, err := proc.Cgroups()
	if err != nil {
		return nil, err
	}
	mounts, err := procfs.GetMounts()
	if err != nil {
		return nil, err
	}
	return func(controller string) (string, bool) {
		for _, group := range groups {
			// The number of the process is the engine's: make sure that it means the same process here.
			ofIt := slices.Contains(group.Controllers, controller) || controller == "" && group.HierarchyID == 0
			if !ofIt || !strings.Contains(group.Path, contained) {
				continue
			}
			for _, mount := range mounts {
				_, v1 := mount.SuperOptions[controller]
				if controller == "" && mount.FSType == "cgroup2" || controller != "" && mount.FSType == "cgroup" && v1 {
					if path, err := filepath.Rel(mount.Root, group.Path); err == nil && filepath.IsLocal(path) {
						return filepath.Join(mount.MountPoint, path), true
					}
				}
			}
		}
		return "", false
	}, nil
}

// findThrottling finds the file that tells of throttling. The group at the root has none, as nothing throttles it.
func findThrottling(folder func(controller string) (string, bool)) throttling {
	for _, controller := range []string{"cpu", ""} {
		if path, ok := folder(controller); ok {
			t := throttling{file: filepath.Join(path, "cpu.stat"), unified: controller == ""}
			if _, err := t.read(); err == nil {
				return t
			}
		}
	}
	return throttling{}
}

func (t throttling) read() (time.Duration, error) {
	name, unit := "throttled_time", time.Nanosecond
	if t.unified {
		name, unit = "throttled_usec", time.Microsecond
	}
	if t.file == "" {
		return 0, nil
	}
	n, err := counter(t.file, name)
	return time.Duration(n) * unit, err
}

// read returns what is used. Memory is without inactive page cache, which the kernel may drop at any time.
func (g controlGroup) read() (Usage, error) {
	usageFile, cacheName := "memory.usage_in_bytes", "total_inactive_file"
	cpuNames, unit := "", time.Nanosecond
	if g.unified {
		usageFile, cacheName = "memory.current", "inactive_file"
		cpuNames, unit = "usage_usec", time.Microsecond
	}
	used, err := counter(g.cpuFile, cpuNames)
	at := time.Now()
	if err != nil {
		return Usage{}, err
	}
	throttled, err := g.throttling.read()
	if err != nil {
		return Usage{}, err
	}
	usage, err := counter(filepath.Join(g.memoryDir, usageFile), "")
	if err != nil {
		return Usage{}, err
	}
	cache, err := counter(filepath.Join(g.memoryDir, "memory.stat"), cacheName)
	if err != nil {
		return Usage{}, err
	}
	return Usage{At: at, CPU: time.Duration(used) * unit, Throttled: throttled, Memory: usage - min(cache, usage)}, nil
}

// counter reads a file that holds one number, or that has one on the line of the name.
func counter(path, name string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	if name == "" {
		return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	}
	for line := range strings.Lines(string(text)) {
		if number, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, name)
}
