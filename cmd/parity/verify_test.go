package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/verify/verifytest"
)

// output runs the command and returns its exit code and standard output.
func output(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	code := exitCode(cmd.ExecuteContext(t.Context()))
	return code, out.String()
}

func TestVerify(t *testing.T) {
	folder := verifytest.Run(t)
	files, err := result.Checksums(folder)
	if err != nil {
		t.Fatal(err)
	}
	code, out := output(t, "verify", folder)
	if want := fmt.Sprintf(": all of %d files, 12 launches and 6 rows of the tables are what the raw files give\n", len(files)); code != 0 || !strings.HasSuffix(out, want) {
		t.Errorf("a good run: exit code %d, output:\n%s", code, out)
	}
	if err := os.WriteFile(filepath.Join(folder, "more"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	code, out = output(t, "verify", folder)
	if want := "more: extra: SHA256SUMS does not list it\n" + folder + ": 1 difference\n"; code != exitDifferent || out != want {
		t.Errorf("a file more: exit code %d, output:\n%s", code, out)
	}
	for _, args := range [][]string{{"verify", t.TempDir()}, {"verify"}, {"verify", folder, folder}} {
		if code, out := output(t, args...); code != exitCouldNotRun || out != "" {
			t.Errorf("%q: exit code %d, output:\n%s", args, code, out)
		}
	}
}

func TestReport(t *testing.T) {
	folder := verifytest.Run(t)
	run, err := result.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	if code, out := output(t, "report", folder); code != 0 || out != report.Text(run) {
		t.Errorf("exit code %d, output:\n%s", code, out)
	}
	markdown, err := os.ReadFile(filepath.Join(folder, result.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	if code, out := output(t, "report", "--markdown", folder); code != 0 || out != string(markdown) {
		t.Errorf("--markdown: exit code %d, output:\n%s", code, out)
	}
	for _, args := range [][]string{{"report", t.TempDir()}, {"report"}} {
		if code, out := output(t, args...); code != exitCouldNotRun || out != "" {
			t.Errorf("%q: exit code %d, output:\n%s", args, code, out)
		}
	}
}
