package testserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// StdioFaults are the faults of a child process by the name of the tool to call.
func StdioFaults() map[string]Fault { return maps.Clone(stdioFaults) }

// A fault of a child is played by ServeStdio; here is only what must come of it.
var stdioFaults = map[string]Fault{
	"noise":           {},
	"duplicate id":    {},
	"server request":  {},
	"stderr":          {},
	"truncated JSON":  {Kind: "truncated"},
	"broken line":     {Kind: "malformed"},
	"too large":       {Kind: "too_large"},
	"silence":         {Kind: "timeout", Hangs: true},
	"exit":            {Kind: "exit", Lost: true},
	"crash":           {Kind: "exit", Lost: true},
	"deaf for a time": {Kind: "timeout", Hangs: true},
}

// ServeStdio is the child process: a server on in and out. Its tool "stubborn" makes it ignore the end
// of its input and SIGTERM, and start a child of its own that does nothing, and whose process id is
// the text of the result.
func ServeStdio(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	stubborn := false
	for {
		line, err := lines.ReadBytes('\n')
		if stubborn && err != nil {
			select {} // until it is killed
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if len(m.ID) == 0 || m.Method == "" {
			continue
		}
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result(m))
		switch m.Params.Name {
		case "noise":
			text = "Listening on 8080\n\n[warn] \xff\n" + text
		case "duplicate id":
			text += "\n" + text
		case "server request":
			text = `{"jsonrpc":"2.0","id":"x","method":"ping"}` + "\n" + text
		case "stderr":
			fmt.Fprintln(os.Stderr, "a word on standard error")
		case "truncated JSON":
			text = text[:20]
		case "broken line":
			text = "{oops}"
		case "too large":
			text = `{"a":"` + strings.Repeat("x", 2*Limit) + `"}`
		case "silence":
			continue
		case "exit":
			return nil
		case "crash":
			os.Exit(3)
		case "deaf for a time":
			time.Sleep(500 * time.Millisecond)
			continue
		case "stubborn":
			stubborn = true
			signal.Ignore(syscall.SIGTERM)
			sleeper := exec.Command("sleep", "600")
			sleeper.Stdout = os.Stdout // keeps the pipe open
			if err := sleeper.Start(); err != nil {
				return err
			}
			text = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%d"}]}}`, m.ID, sleeper.Process.Pid)
		}
		if _, err := io.WriteString(out, text+"\n"); err != nil {
			return err
		}
	}
}
