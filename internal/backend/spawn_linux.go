package backend

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawner starts all commands of a backend from one operating system thread, which lives as long as the backend. For two reasons: a child
// inherits the CPU affinity of the thread that starts it, so the thread is bound first, and no other goroutine may run there; and the
// signal that a child gets when its parent is gone (PR_SET_PDEATHSIG) is sent when that thread ends, not when the process does. So
// a harness that is killed takes its servers with it, and one that lives does not lose them to the end of some thread.
type spawner struct {
	// all are the CPUs that the harness may use.
	all      unix.CPUSet
	requests chan func() error
	results  chan error
	closed   chan struct{}
	close    func()
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan func() error), results: make(chan error), closed: make(chan struct{})}
	_ = unix.SchedGetaffinity(0, &s.all) // cannot fail for the thread itself
	s.close = sync.OnceFunc(func() { close(s.closed) })
	go func() {
		runtime.LockOSThread() // never unlocked: the thread, whose affinity is changed, ends with the goroutine
		for {
			select {
			case start := <-s.requests:
				s.results <- start()
			case <-s.closed:
				return
			}
		}
	}()
	return s
}

// start starts the command in a process group of its own, on the CPUs, or on all that the harness may use where none are given.
func (s *spawner) start(cmd *exec.Cmd, cpus []int) error {
	set := s.all
	if len(cpus) > 0 {
		set.Zero()
		for _, cpu := range cpus {
			set.Set(cpu)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	start := func() error {
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return fmt.Errorf("bind to CPUs %v of %d: %w", cpus, runtime.NumCPU(), err)
		}
		return cmd.Start()
	}
	select {
	case s.requests <- start:
		return <-s.results
	case <-s.closed:
		return errClosed
	}
}
