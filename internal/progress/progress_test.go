package progress

import (
	"bytes"
	"testing"
	"time"
)

func TestDuring(t *testing.T) {
	detail := func() string { return "123 calls/s" }
	for _, test := range []struct {
		name  string
		width func() int
		want  string
	}{
		{"no terminal", nil, "1/2 go … fine\n"},
		{"a terminal", func() int { return 80 }, clearLine + "1/2 go … 123 calls/s" + clearLine + "1/2 go … fine\n"},
		{"a narrow terminal", func() int { return 12 }, clearLine + "1/2 go … 12" + clearLine + "1/2 go … fine\n"},
		{"a very narrow one", func() int { return 1 }, clearLine + clearLine + "1/2 go … fine\n"},
	} {
		var out bytes.Buffer
		d := &Display{out: &out, width: test.width}
		d.During("1/2 go", detail, func() string {
			time.Sleep(period / 10)
			return "fine"
		})
		if got := out.String(); got != test.want {
			t.Errorf("%s: got %q, wanted %q", test.name, got, test.want)
		}
	}
}

func TestLine(t *testing.T) {
	var out bytes.Buffer
	Plain(&out).Line("text")
	if got := out.String(); got != "text\n" {
		t.Errorf("got %q", got)
	}
}
