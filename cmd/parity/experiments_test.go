package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
)

func runExperiments(t *testing.T, args ...string) (string, error) {
	t.Helper()
	t.Chdir("../..")
	cmd := experimentsCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func TestExperimentsTable(t *testing.T) {
	out, err := runExperiments(t, "--scale", "0.05")
	if err != nil {
		t.Fatal(err)
	}
	all, err := experiment.All(".")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != len(all)+1 || !strings.Contains(lines[0], "at --scale 0.05") {
		t.Fatalf("got\n%s\nwanted a head and %d experiments", out, len(all))
	}
	for i, e := range all {
		if !strings.HasPrefix(lines[i+1], e.Name+" ") || !strings.HasSuffix(lines[i+1], e.Title) {
			t.Errorf("line %d is %q, wanted %s", i+2, lines[i+1], e.Name)
		}
	}
}

func TestExperimentsJSON(t *testing.T) {
	out, err := runExperiments(t, "--json", "--scale", "0.05")
	if err != nil {
		t.Fatal(err)
	}
	var list []listed
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if len(l.Subjects) == 0 || len(l.Workloads) == 0 || l.Launches < len(l.Subjects) || l.ScaledMinutes <= 0 || l.Minutes <= l.ScaledMinutes {
			t.Errorf("got %+v", l)
		}
		// docs/adding-an-experiment.md says so.
		if l.Name == "tmdevlab-v1" && (l.ScaledMinutes < 13 || l.ScaledMinutes >= 15) {
			t.Errorf("tmdevlab-v1 takes %g minutes at scale 0.05, wanted some 14", l.ScaledMinutes)
		}
	}
}

func TestExperimentsScale(t *testing.T) {
	if out, err := runExperiments(t, "--scale", "2"); err == nil || !strings.Contains(err.Error(), "scale is 2") {
		t.Errorf("got %v and\n%s", err, out)
	}
}
