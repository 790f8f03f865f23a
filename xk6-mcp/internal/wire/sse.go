package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

var errTooLarge = errors.New("larger than the limit")

// eventReader reads Server-Sent Events as they arrive: an event is returned when the blank line that
// ends it is here, not when the reader's buffer is full. Lines end with LF, CRLF or CR.
type eventReader struct {
	r      *bufio.Reader
	limit  int    // bytes of one event
	line   []byte // reused
	data   []byte // reused
	size   int    // of the event so far, fields that are ignored included
	skipLF bool   // the last line ended with CR: an LF that follows belongs to it
	begun  bool   // past a byte order mark
	skip   bool   // what follows is the rest of an event that was too large

	kind string // of the last event
	id   string // of the last event that had one
}

func newEventReader(r io.Reader, limit int) *eventReader {
	return newEventReaderSize(r, limit, 4096)
}

func newEventReaderSize(r io.Reader, limit, buffer int) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, buffer), limit: limit}
}

// eventReaders are used again, for their buffers: most responses of most servers are short streams.
var eventReaders = sync.Pool{New: func() any { return newEventReader(nil, 0) }}

func borrowEventReader(r io.Reader, limit int) *eventReader {
	e, ok := eventReaders.Get().(*eventReader)
	if !ok {
		panic("eventReaders has only event readers")
	}
	buffer, line, data := e.r, e.line[:0], e.data[:0]
	buffer.Reset(r)
	*e = eventReader{r: buffer, limit: limit, line: line, data: data}
	return e
}

// giveBack ends the use of a reader, and of what it returned.
func (e *eventReader) giveBack() {
	const most = 64 << 10 // one large event must not be kept for ever
	if cap(e.line) > most || cap(e.data) > most {
		return
	}
	e.r.Reset(nil)
	eventReaders.Put(e)
}

// next returns the data of the next event of type message, as nextAny does.
func (e *eventReader) next() ([]byte, error) {
	for {
		data, err := e.nextAny()
		if err != nil || e.kind == "message" {
			return data, err
		}
	}
}

// nextAny returns the data of the next event. The slice is valid until the following call. io.EOF
// means that the stream ended between events, io.ErrUnexpectedEOF that it ended in one. After
// errTooLarge, which is returned as soon as it is known, reading goes on with the event after.
func (e *eventReader) nextAny() ([]byte, error) {
	for first := true; e.skip; first = false {
		line, err := e.readLine()
		if err != nil {
			return nil, err
		}
		e.skip = first || len(line) > 0 // the first line had something that has been read already
	}
	e.data, e.size, e.kind = e.data[:0], 0, "message"
	hasData := false
	for {
		line, err := e.readLine()
		if err != nil {
			if errors.Is(err, io.EOF) && (hasData || len(line) > 0) {
				err = io.ErrUnexpectedEOF
			}
			e.skip = errors.Is(err, errTooLarge)
			return nil, err
		}
		if len(line) == 0 {
			if hasData {
				return e.data, nil
			}
			e.size, e.kind = 0, "message"
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":")) // a line without a colon is a field without a value
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if hasData {
				e.data = append(e.data, '\n')
			}
			e.data, hasData = append(e.data, value...), true
		case "event":
			if e.kind = string(value); len(value) == 0 {
				e.kind = "message"
			}
		case "id":
			if !bytes.ContainsRune(value, 0) {
				e.id = string(value)
			}
		}
	}
}

// readLine returns the next line without its end. On an error it returns what there is of the line.
func (e *eventReader) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		if _, err := e.r.Peek(1); err != nil {
			return e.line, err
		}
		buf, _ := e.r.Peek(e.r.Buffered()) // what is buffered can be peeked at
		if e.skipLF {
			e.skipLF = false
			if buf[0] == '\n' {
				_, _ = e.r.Discard(1)
				continue
			}
		}
		end := bytes.IndexAny(buf, "\r\n")
		n := end
		if end < 0 {
			n = len(buf)
		}
		if e.skip {
			e.line = append(e.line[:0], buf[:min(n, 1)]...) // whether there is something is all that counts
		} else {
			if e.size += n; e.size > e.limit {
				return nil, fmt.Errorf("an event is %w of %d bytes", errTooLarge, e.limit)
			}
			e.line = append(e.line, buf[:n]...)
		}
		if end < 0 {
			_, _ = e.r.Discard(n)
			continue
		}
		e.skipLF = buf[end] == '\r'
		_, _ = e.r.Discard(n + 1)
		if !e.begun {
			e.begun = true
			return bytes.TrimPrefix(e.line, []byte("\ufeff")), nil
		}
		return e.line, nil
	}
}
