package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/verify/verifytest"
)

func TestReportHTML(t *testing.T) {
	folder := verifytest.Run(t)
	run, err := result.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	want, err := report.HTML(run, folder)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if code, out := output(t, "report", folder, "--html", file); code != 0 || out != "" {
		t.Errorf("exit code %d, output:\n%s", code, out)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file has %d bytes (%v), wanted the %d of report.HTML", len(got), err, len(want))
	}

	if code, out := output(t, "report", folder, "--html", file, "--markdown"); code != exitCouldNotRun || out != "" {
		t.Errorf("with --markdown: exit code %d, output:\n%s", code, out)
	}
	i := slices.IndexFunc(run.Launches, func(l result.Launch) bool { return len(l.Invalid) == 0 && !l.Again })
	if err := os.Remove(filepath.Join(folder, filepath.FromSlash(run.Launches[i].Operations[0].Histogram))); err != nil {
		t.Fatal(err)
	}
	if code, _ := output(t, "report", folder, "--html", file); code != exitCouldNotRun {
		t.Errorf("of a damaged run: exit code %d, wanted %d", code, exitCouldNotRun)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Error("a damaged run changed the file of the good one")
	}
}
