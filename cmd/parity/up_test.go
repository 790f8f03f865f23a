package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/backend"
)

// TestUpEndsWithCtrlC starts the command as a user does and interrupts it: once while it runs, once while it starts.
func TestUpEndsWithCtrlC(t *testing.T) {
	parity := filepath.Join(t.TempDir(), "parity")
	if out, err := exec.Command("go", "build", "-o", parity, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, test := range []struct {
		name string
		args []string
	}{
		{"the usual backend", []string{"up", "go", "go/stateful", "--backend", cmp.Or(os.Getenv("PARITY_BACKEND"), backend.KindAuto), "--port-base", "18700", "--json"}},
		{"processes", []string{"up", "go", "../../parity/testdata/fifth", "--backend", "process", "--port-base", "18710", "--json"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Run("running", func(t *testing.T) {
				cmd := exec.Command(parity, test.args...)
				cmd.Stderr = os.Stderr
				stdout, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				line, err := bufio.NewReader(stdout).ReadBytes('\n')
				if err != nil {
					t.Fatalf("no line of JSON: %v", err)
				}
				var stand standJSON
				if err := json.Unmarshal(line, &stand); err != nil {
					t.Fatal(err)
				}
				urls := []string{stand.Upstream}
				for _, server := range stand.Servers {
					urls = append(urls, server.URL)
				}
				if len(urls) != 3 {
					t.Fatalf("got %s, wanted upstream and two servers", line)
				}
				for _, url := range urls {
					if !answers(url) {
						t.Errorf("%s does not answer", url)
					}
				}
				interrupt(t, cmd)
				for _, url := range urls {
					if answers(url) {
						t.Errorf("%s still answers", url)
					}
				}
			})
			t.Run("starting", func(t *testing.T) {
				cmd := exec.Command(parity, test.args...)
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				upstream := "http://127.0.0.1:" + test.args[len(test.args)-2]
				for deadline := time.Now().Add(time.Minute); !answers(upstream); time.Sleep(5 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatal("upstream did not start")
					}
				}
				interrupt(t, cmd)
				if answers(upstream) {
					t.Error("upstream still answers")
				}
			})
		})
	}
}

// interrupt sends what Ctrl-C sends and waits for a good end.
func interrupt(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the command ended with %v", err)
	}
}

func answers(url string) bool {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url + "/healthz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
