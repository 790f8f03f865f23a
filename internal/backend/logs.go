package backend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// tailLines is how much of a log is part of an error.
const tailLines = 30

// logs is the folder that keeps the output of services.
type logs struct {
	dir string
	// temporary folders are removed in the end, unless keep was called.
	temporary bool
	kept      atomic.Bool
}

func newLogs(dir string) (*logs, error) {
	if dir == "" {
		dir, err := os.MkdirTemp("", "mcp-parity-logs-")
		return &logs{dir: dir, temporary: true}, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &logs{dir: dir}, os.MkdirAll(dir, 0o755)
}

// create makes a new file for what is named, with a number where there is one of that name.
func (l *logs) create(name string) (*os.File, error) {
	name = strings.ReplaceAll(name, "/", "-")
	for i := 1; ; i++ {
		file := name + ".log"
		if i > 1 {
			file = fmt.Sprintf("%s-%d.log", name, i)
		}
		f, err := os.OpenFile(filepath.Join(l.dir, file), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// failed makes an error of what went wrong, with the end of the log, and sees to it that the log is kept.
func (l *logs) failed(path string, err error) error {
	l.kept.Store(true)
	return &Failure{Err: err, LogPath: path, Tail: tail(path)}
}

func (l *logs) close() error {
	if l.temporary && !l.kept.Load() {
		return os.RemoveAll(l.dir)
	}
	return nil
}

// Failure is an error of a service or of a build that has a log.
type Failure struct {
	// Err is what went wrong.
	Err error
	// LogPath is the file with the whole log, Tail its last lines.
	LogPath, Tail string
}

func (f *Failure) Error() string {
	if f.Tail == "" {
		return fmt.Sprintf("%v; its log is empty: %s", f.Err, f.LogPath)
	}
	return fmt.Sprintf("%v; the end of its log (%s):\n%s", f.Err, f.LogPath, f.Tail)
}

func (f *Failure) Unwrap() error { return f.Err }

// tail returns the last lines of a file, indented.
func tail(path string) string {
	const most = 64 << 10 // bytes; longer lines than that would be no help
	f, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("    (the log cannot be read: %v)", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Sprintf("    (the log cannot be read: %v)", err)
	}
	text := make([]byte, min(info.Size(), most))
	n, _ := f.ReadAt(text, info.Size()-int64(len(text))) // what could be read is better than nothing
	trimmed := strings.TrimRight(string(text[:n]), "\n")
	if trimmed == "" {
		return ""
	}
	lines := strings.Split(trimmed, "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n    ")
}
