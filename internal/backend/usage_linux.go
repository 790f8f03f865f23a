package backend

import (
	"time"

	"github.com/prometheus/procfs"
)

// tick is the unit of the CPU times in /proc/<pid>/stat (USER_HZ), the same on all architectures that Go runs on.
const tick = 10 * time.Millisecond

// descendants lists the leader, the processes of its group and their descendants, in other groups too.
func descendants(leader int) ([]int, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	members := map[int]bool{}
	var queue []int
	for _, proc := range all {
		stat, err := proc.Stat()
		if err != nil {
			continue // it has just ended
		}
		children[stat.PPID] = append(children[stat.PPID], stat.PID)
		if stat.PID == leader || stat.PGRP == leader {
			members[stat.PID] = true
			queue = append(queue, stat.PID)
		}
	}
	for n := 0; n < len(queue); n++ {
		for _, child := range children[queue[n]] {
			if !members[child] {
				members[child] = true
				queue = append(queue, child)
			}
		}
	}
	return queue, nil
}

// cpuTime sums the CPU time of the processes, and of their children that have ended and been waited for.
func cpuTime(pids []int) (time.Duration, error) {
	var sum time.Duration
	var read bool
	for _, pid := range pids {
		proc, err := procfs.NewProc(pid)
		if err != nil {
			continue // it has just ended
		}
		stat, err := proc.Stat()
		if err != nil {
			continue
		}
		read = true
		sum += time.Duration(stat.UTime)*tick + time.Duration(stat.STime)*tick
		sum += time.Duration(stat.CUTime)*tick + time.Duration(stat.CSTime)*tick
	}
	if !read {
		return 0, errEnded
	}
	return sum, nil
}

// throttledTime reads the throttling of the process's control group, 0 where that cannot be read.
func throttledTime(pid int) func() (time.Duration, error) {
	folder, err := controlGroupFolders(pid, "")
	if err != nil {
		return throttling{}.read
	}
	return findThrottling(folder).read
}

func residentSet(pid int) (now, peak int64, err error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, errEnded
	}
	status, err := proc.NewStatus()
	if err != nil || status.VmRSS == 0 { // a process that has ended, but has not been waited for, has no memory
		return 0, 0, errEnded
	}
	return int64(status.VmRSS), int64(status.VmHWM), nil
}

// proportionalSet is the resident set, in which a page that several processes share counts in parts. The kernel may refuse it;
// the resident set, which is larger, stands in.
func proportionalSet(pid int) (int64, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	if rollup, err := proc.ProcSMapsRollup(); err == nil {
		return int64(rollup.Pss), nil
	}
	now, _, err := residentSet(pid)
	return now, err
}
