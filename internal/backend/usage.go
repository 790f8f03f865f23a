package backend

import (
	"sync"
	"time"
)

const (
	// samplePeriod is how often memory is read for the peak.
	samplePeriod = 100 * time.Millisecond
	// refreshPeriod is how old the list of processes may be: to renew it costs a hundred times what a reading costs.
	refreshPeriod = time.Second
)

// treeUsage reads what a process and its descendants use, and keeps the peak of their memory.
type treeUsage struct {
	leader int
	// throttled reads how long the control group of the leader was kept from running.
	throttled func() (time.Duration, error)

	mu      sync.Mutex
	members []int
	renewed time.Time
	cpu     time.Duration // the most that was read, as the time of a child that nobody waited for is lost with it
	peak    int64
}

// watchTree samples memory until ended is closed.
func watchTree(leader int, ended <-chan struct{}) *treeUsage {
	t := &treeUsage{leader: leader, throttled: throttledTime(leader), members: []int{leader}}
	go func() {
		tick := time.NewTicker(samplePeriod)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			t.mu.Lock()
			t.refresh()
			if memory, peak, err := t.memory(); err == nil {
				t.peak = max(t.peak, memory, peak)
			}
			t.mu.Unlock()
		}
	}()
	return t
}

// refresh renews the list of processes when it is old; where that fails, the old one will do.
func (t *treeUsage) refresh() {
	if time.Since(t.renewed) < refreshPeriod {
		return
	}
	t.renewed = time.Now()
	if members, err := descendants(t.leader); err == nil && len(members) > 0 {
		t.members = members
	}
}

func (t *treeUsage) read() (Usage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	cpu, err := cpuTime(t.members)
	at := time.Now()
	if err != nil {
		return Usage{}, err
	}
	memory, peak, err := t.memory()
	if err != nil {
		return Usage{}, err
	}
	throttled, err := t.throttled()
	if err != nil {
		return Usage{}, err
	}
	t.cpu = max(t.cpu, cpu)
	t.peak = max(t.peak, memory, peak)
	return Usage{At: at, CPU: t.cpu, Throttled: throttled, Memory: memory, PeakMemory: t.peak}, nil
}

// memory returns what the processes hold, and the system's own peak where it has one that holds for all of them.
func (t *treeUsage) memory() (now, peak int64, err error) {
	if len(t.members) == 1 {
		return residentSet(t.members[0])
	}
	for _, pid := range t.members {
		set, err := proportionalSet(pid)
		if err != nil {
			continue // it has just ended
		}
		now += set
	}
	if now == 0 {
		return 0, 0, errEnded
	}
	return now, 0, nil
}
