package mcp

import (
	"os"
	"runtime"
	"syscall"
)

// maxRSS of a process that has ended, in bytes.
func maxRSS(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" { // bytes there, KiB elsewhere
		return usage.Maxrss
	}
	return usage.Maxrss * 1024
}
