//go:build !linux

package backend

import (
	"os/exec"
	"syscall"
)

// spawner starts commands. CPUs are left to the system, which here offers no way to bind a process to some of them.
type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

// start starts the command in a process group of its own.
func (*spawner) start(cmd *exec.Cmd, _ []int) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}

func (*spawner) close() {}
