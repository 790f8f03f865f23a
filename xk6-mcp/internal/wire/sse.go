package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
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
}

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{r: bufio.NewReader(r), limit: limit}
}

// next returns the data of the next event of type message. The slice is valid until the following
// call. io.EOF means that the stream ended between events, io.ErrUnexpectedEOF that it ended in one.
func (e *eventReader) next() ([]byte, error) {
	e.data, e.size = e.data[:0], 0
	hasData, kind := false, "message"
	for {
		line, err := e.readLine()
		if err != nil {
			if errors.Is(err, io.EOF) && (hasData || len(line) > 0) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if len(line) == 0 {
			if hasData && kind == "message" {
				return e.data, nil
			}
			e.data, e.size = e.data[:0], 0
			hasData, kind = false, "message"
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
			if kind = string(value); kind == "" {
				kind = "message"
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
		if e.size += n; e.size > e.limit {
			return nil, fmt.Errorf("an event is %w of %d bytes", errTooLarge, e.limit)
		}
		e.line = append(e.line, buf[:n]...)
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
