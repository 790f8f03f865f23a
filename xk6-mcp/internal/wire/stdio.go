package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

const (
	// exitGrace is how long a child process has for each step of its end: after its standard input was
	// closed, and again after SIGTERM.
	exitGrace = 2 * time.Second
	// drainGrace is how long the output of a process that has ended is still read. It would have no end
	// if a grandchild kept it open.
	drainGrace = 200 * time.Millisecond
)

// stdio is a child process that reads one message per line and writes one per line.
type stdio struct {
	duplex
	cmd      *exec.Cmd
	in       io.WriteCloser
	lines    chan line
	exited   chan struct{}
	expected atomic.Bool
}

// line is one to write.
type line struct {
	data []byte
	done chan error
}

func newStdio(s *Session) *stdio {
	t := &stdio{duplex: newDuplex(s), lines: make(chan line), exited: make(chan struct{})}
	t.post = t.write
	return t
}

// open starts the process.
func (t *stdio) open(context.Context, Options) *Reply {
	r := failed("initialize", nil)
	if err := t.start(); err != nil {
		r.Err = errorf(KindSpawn, "%s does not start: %w", t.cfg.Command[0], err)
		close(t.exited)
	}
	r.End = time.Now()
	if observe := t.cfg.Observer.Spawn; observe != nil {
		var err error
		if r.Err != nil {
			err = r.Err
		}
		observe(r.End.Sub(r.Start), err)
	}
	return r
}

func (t *stdio) start() (err error) {
	// Pipes of our own: exec's are closed as soon as the process ends, read or not.
	var files []*os.File
	defer func() {
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
			files = append(files, r, w)
		}
		return r, w
	}
	childIn, in := pipe()
	out, childOut := pipe()
	errs, childErr := pipe()
	if err != nil {
		return err
	}
	t.cmd = exec.Command(t.cfg.Command[0], t.cfg.Command[1:]...) // #nosec G204 -- the command is what the user asks for
	t.cmd.Env = append(os.Environ(), t.cfg.Env...)
	t.cmd.Dir = t.cfg.Dir
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = childIn, childOut, childErr
	ownGroup(t.cmd)
	if err = t.cmd.Start(); err != nil {
		return err
	}
	for _, f := range []*os.File{childIn, childOut, childErr} {
		_ = f.Close() // the child has its own
	}
	t.in = in
	read := make(chan struct{})
	t.spawn(func() { defer close(read); t.read(out) })
	t.spawn(func() { t.readStderr(errs) })
	t.spawn(t.writeLines)
	t.spawn(func() { t.wait(read, out, errs) })
	return nil
}

// wait waits for the end of the process, and ends what is left of its group.
func (t *stdio) wait(read <-chan struct{}, out, errs *os.File) {
	_ = t.cmd.Wait() // what it says is in ProcessState
	killGroup(t.cmd)
	select {
	case <-read:
	case <-time.After(drainGrace):
	}
	_, _ = out.Close(), errs.Close()
	<-read
	status := t.cmd.ProcessState.String()
	e := errorf(KindExit, "%s has ended: %s", t.cfg.Command[0], status)
	t.fail(e, e)
	close(t.exited)
	if observe := t.cfg.Observer.Exit; observe != nil {
		observe(t.expected.Load(), status)
	}
}

// writeLines writes one line after the other, so that one that the process does not read holds up only
// those who wait for it, and them until their time is up.
func (t *stdio) writeLines() {
	defer func() { _ = t.in.Close() }()
	for {
		select {
		case l := <-t.lines:
			_, err := t.in.Write(append(l.data, '\n'))
			l.done <- err
		case <-t.exited:
			return
		}
	}
}

func (t *stdio) write(ctx context.Context, m *outgoing) *Reply {
	r := failed(m.method, nil)
	data := m.body
	if !m.raw && bytes.ContainsAny(data, "\r\n") {
		var compact bytes.Buffer
		if err := json.Compact(&compact, data); err != nil {
			r.Err = errorf(KindMalformed, "not JSON: %w", err)
			return r
		}
		data = compact.Bytes()
	}
	l := line{data: bytes.Clone(data), done: make(chan error, 1)}
	handed := t.lines
	for waiting := true; waiting; {
		select {
		case handed <- l:
			handed = nil
		case err := <-l.done:
			if err != nil {
				r.Err = errorf(KindExit, "%s does not read any more: %w", t.cfg.Command[0], err)
			}
			waiting = false
		case <-t.exited:
			r.Err = errorf(KindExit, "%s has ended: %s", t.cfg.Command[0], t.cmd.ProcessState)
			waiting = false
		case <-ctx.Done():
			r.Err = errorf(KindReset, "%w", context.Cause(ctx))
			waiting = false
		}
	}
	r.End = time.Now()
	r.Timings.Sending = r.End.Sub(r.Start)
	return r
}

// read takes the lines of the standard output.
func (t *stdio) read(out io.Reader) {
	lines := newLineReader(out, t.cfg.MaxMessageSize)
	for {
		data, err := lines.next()
		switch {
		case errors.Is(err, errTooLarge):
			if !t.only(errorf(KindTooLarge, "%w", err), t.cfg.MaxMessageSize) {
				t.noise(data)
			}
		case err != nil:
			return // wait knows why
		case len(data) == 0:
		case data[0] != '{' && data[0] != '[':
			t.noise(data)
		default:
			t.receive(data)
		}
	}
}

func (t *stdio) readStderr(errs io.Reader) {
	const most = 64 << 10
	lines := newLineReader(errs, most)
	for {
		data, err := lines.next()
		if err != nil && !errors.Is(err, errTooLarge) {
			return
		}
		if t.cfg.Stderr != nil {
			t.cfg.Stderr(string(data))
		}
	}
}

// end asks the process to end, as the protocol says: its input is closed, then it gets SIGTERM.
func (t *stdio) end(ctx context.Context, _ Options) error {
	t.expected.Store(true)
	if t.in == nil {
		return nil
	}
	_ = t.in.Close()
	for _, step := range []func(*exec.Cmd){terminateGroup, killGroup} {
		select {
		case <-t.exited:
			return nil
		case <-ctx.Done():
			return nil // drop will kill it
		case <-time.After(exitGrace):
			step(t.cmd)
		}
	}
	return nil
}

func (t *stdio) drop() {
	t.expected.Store(true)
	if t.in == nil {
		return
	}
	select {
	case <-t.exited:
	default:
		killGroup(t.cmd)
		<-t.exited
	}
}

// lineReader reads lines of limited size.
type lineReader struct {
	r     *bufio.Reader
	limit int
	line  []byte // reused
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReader(r), limit: limit}
}

// next returns the next line without white space around it, valid until the following call. Of one that
// is too large it returns the start, with errTooLarge, and goes on after it. A last line without an end
// is no line.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	large := false
	for {
		part, err := l.r.ReadSlice('\n')
		if room := l.limit - len(l.line); len(part) > room {
			part, large = part[:room], true
		}
		l.line = append(l.line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		case large:
			return l.line, fmt.Errorf("a line is %w of %d bytes", errTooLarge, l.limit)
		}
		return bytes.TrimSpace(l.line), nil
	}
}
