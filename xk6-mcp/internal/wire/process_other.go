//go:build !unix

package wire

import "os/exec"

// There are no process groups here: only the process itself is ended, and it cannot be asked to.
func ownGroup(*exec.Cmd) {}

func terminateGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
