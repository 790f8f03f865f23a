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
	requests chan func()
	closed   chan struct{}
	close    func()
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan func()), closed: make(chan struct{})}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	go func() {
		runtime.LockOSThread() // never unlocked: the thread, whose affinity is changed, ends with the goroutine
		for {
			select {
			case start := <-s.requests:
				start()
			case <-s.closed:
				return
			}
		}
	}()
	return s
}

// start starts the command in a process group of its own, on the CPUs, or on all that the harness may use where none are given.
func (s *spawner) start(cmd *exec.Cmd, cpus []int) error {
	var set unix.CPUSet
	if len(cpus) == 0 {
		// Of the main thread, not of this one, which may still be bound for the command before.
		if err := unix.SchedGetaffinity(unix.Getpid(), &set); err != nil {
			return fmt.Errorf("read the CPU affinity: %w", err)
		}
	}
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}

	result := make(chan error)
	start := func() {
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			result <- fmt.Errorf("bind to CPUs %v of %d: %w", cpus, runtime.NumCPU(), err)
			return
		}
		result <- cmd.Start()
	}
	select {
	case s.requests <- start:
		return <-result
	case <-s.closed:
		return errClosed
	}
}
