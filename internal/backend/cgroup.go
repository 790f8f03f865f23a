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
	// unified is version 2 of control groups, which has other names.
	unified bool
}

// findControlGroup finds that of a container by its main process, which must be visible here.
func findControlGroup(pid int, container string) (controlGroup, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return controlGroup{}, err
	}
	groups, err := proc.Cgroups()
	if err != nil {
		return controlGroup{}, err
	}
	mounts, err := procfs.GetMounts()
	if err != nil {
		return controlGroup{}, err
	}
	// folder returns where the group of the controller is, that of version 2 for "".
	folder := func(controller string) (string, bool) {
		for _, group := range groups {
			// The number of the process is the engine's: make sure that it means the same process here.
			ofIt := slices.Contains(group.Controllers, controller) || controller == "" && group.HierarchyID == 0
			if !ofIt || !strings.Contains(group.Path, container) {
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
	}
	cpu, hasCPU := folder("cpuacct")
	memory, hasMemory := folder("memory")
	if hasCPU && hasMemory {
		return controlGroup{cpuFile: filepath.Join(cpu, "cpuacct.usage"), memoryDir: memory}, nil
	}
	if unified, ok := folder(""); ok {
		return controlGroup{cpuFile: filepath.Join(unified, "cpu.stat"), memoryDir: unified, unified: true}, nil
	}
	return controlGroup{}, errors.New("its control group is not mounted here")
}

// read returns the CPU time used and the memory held, in bytes, without inactive page cache, which the kernel may drop at any time.
func (g controlGroup) read() (at time.Time, cpu time.Duration, memory int64, err error) {
	usageFile, cacheName := "memory.usage_in_bytes", "total_inactive_file"
	cpuNames, unit := "", time.Nanosecond
	if g.unified {
		usageFile, cacheName = "memory.current", "inactive_file"
		cpuNames, unit = "usage_usec", time.Microsecond
	}
	used, err := counter(g.cpuFile, cpuNames)
	at = time.Now()
	if err != nil {
		return at, 0, 0, err
	}
	usage, err := counter(filepath.Join(g.memoryDir, usageFile), "")
	if err != nil {
		return at, 0, 0, err
	}
	cache, err := counter(filepath.Join(g.memoryDir, "memory.stat"), cacheName)
	if err != nil {
		return at, 0, 0, err
	}
	return at, time.Duration(used) * unit, usage - min(cache, usage), nil
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
