// Package progress tells a person how far a long job is: on a terminal by one line that changes while a part of the job is under way,
// elsewhere by plain lines.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// period is how often the line on a terminal changes. What is under way is loaded servers, whose time it must not take.
const period = time.Second

// clearLine moves a terminal's cursor to the start of the line and empties the line.
const clearLine = "\r\x1b[K"

// Display shows the parts of a job, one after the other.
type Display struct {
	out io.Writer
	// width returns the number of characters in a line of the terminal; nil where there is none.
	width func() int
}

// New returns a display on a file, which may be a terminal.
func New(out *os.File) *Display {
	d := Plain(out)
	if fd := int(out.Fd()); term.IsTerminal(fd) {
		d.width = func() int {
			width, _, err := term.GetSize(fd)
			if err != nil || width <= 0 { // some terminals do not know
				return 80
			}
			return width
		}
	}
	return d
}

// Plain returns a display that writes plain lines.
func Plain(out io.Writer) *Display { return &Display{out: out} }

// Line shows a line that stays.
func (d *Display) Line(text string) { fmt.Fprintln(d.out, text) }

// During does a part of the job, and shows its title with, at last, the outcome that do returns. On a terminal it meanwhile shows what
// detail returns.
func (d *Display) During(title string, detail func() string, do func() (outcome string)) {
	title += " … "
	if d.width == nil {
		fmt.Fprint(d.out, title)
		fmt.Fprintln(d.out, do())
		return
	}
	done := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			fmt.Fprint(d.out, clearLine, truncate(title+detail(), d.width()-1))
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	outcome := do()
	close(done)
	drawing.Wait()
	fmt.Fprintln(d.out, clearLine+title+outcome)
}

// truncate cuts a line, because a terminal cannot go back to the start of one that it has wrapped.
func truncate(line string, width int) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:width])
	}
	return line
}
