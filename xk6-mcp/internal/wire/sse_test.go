package wire

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readEvents(r io.Reader, limit int) (events []string, err error) {
	e := newEventReader(r, limit)
	for {
		data, err := e.next()
		if err != nil {
			return events, err
		}
		events = append(events, string(data))
	}
}

func TestEventReader(t *testing.T) {
	t.Parallel()
	const limit = 64
	for name, test := range map[string]struct {
		stream string
		want   []string
		err    error
	}{
		"LF":                        {"data: a\n\ndata: b\n\n", []string{"a", "b"}, io.EOF},
		"CRLF":                      {"data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}, io.EOF},
		"CR":                        {"data: a\r\rdata: b\r\r", []string{"a", "b"}, io.EOF},
		"mixed ends":                {"data: a\r\n\ndata: b\n\r\n", []string{"a", "b"}, io.EOF},
		"byte order mark":           {"\ufeffdata: a\n\n", []string{"a"}, io.EOF},
		"no space":                  {"data:a\n\n", []string{"a"}, io.EOF},
		"one space is taken":        {"data:  a\n\n", []string{" a"}, io.EOF},
		"several lines":             {"data: a\ndata: b\n\n", []string{"a\nb"}, io.EOF},
		"empty data":                {"data\n\n", []string{""}, io.EOF},
		"comments and other fields": {": hi\nid: 1\nretry: 5\nfoo\ndata: a\n\n", []string{"a"}, io.EOF},
		"keep-alive comments":       {":\n\n:\n\ndata: a\n\n", []string{"a"}, io.EOF},
		"message event":             {"event: message\ndata: a\n\n", []string{"a"}, io.EOF},
		"other event":               {"event: x\ndata: a\n\ndata: b\n\n", []string{"b"}, io.EOF},
		"empty event name":          {"event\ndata: a\n\n", []string{"a"}, io.EOF},
		"text beyond ASCII":         {"data: h\u00e9 \U0001f600\n\n", []string{"h\u00e9 \U0001f600"}, io.EOF},
		"ends in an event":          {"data: a\n", nil, io.ErrUnexpectedEOF},
		"ends in a line":            {"data: a\n\nda", []string{"a"}, io.ErrUnexpectedEOF},
		"nothing":                   {"", nil, io.EOF},
		"endless line":              {"data: " + strings.Repeat("x", limit), nil, errTooLarge},
		"endless event":             {strings.Repeat("data: x\n", limit), nil, errTooLarge},
		"endless comment":           {":" + strings.Repeat("x", limit), nil, errTooLarge},
		"the limit is per event":    {strings.Repeat("data: x\n\n", limit)[:9*3], []string{"x", "x", "x"}, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{
				strings.NewReader(test.stream),
				iotest.OneByteReader(strings.NewReader(test.stream)),
				iotest.DataErrReader(strings.NewReader(test.stream)),
			} {
				events, err := readEvents(r, limit)
				assert.Equal(t, test.want, events)
				require.ErrorIs(t, err, test.err)
			}
		})
	}
}

// An event must be there as soon as its last byte is, whatever the line ends: the time of a call is
// taken from it.
func TestEventReaderDoesNotWait(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n", "\r"} {
		t.Run(fmt.Sprintf("%q", end), func(t *testing.T) {
			t.Parallel()
			r, w := io.Pipe()
			got := make(chan string, 1)
			go func() {
				data, err := newEventReader(r, 1<<10).next()
				if err != nil {
					got <- err.Error()
					return
				}
				got <- string(data)
			}()
			_, err := io.WriteString(w, "data: a"+end+end)
			require.NoError(t, err)
			select {
			case data := <-got:
				assert.Equal(t, "a", data)
			case <-time.After(10 * time.Second):
				t.Fatal("the event is complete, and the reader waits for more")
			}
			require.NoError(t, w.Close())
		})
	}
}
