// Package parity holds the test that all servers give equal answers. It runs in containers where a Docker engine answers and in child
// processes elsewhere; PARITY_BACKEND=docker or process chooses. What is missing on a machine is a failure, not a skip.
package parity

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/check"
	"github.com/mcp-parity/mcp-parity/internal/gate"
	"github.com/mcp-parity/mcp-parity/internal/subject"
)

// seed is fixed, so that a failure of the test is the same for everyone; `parity check` draws another each time.
const seed = 20261130

func TestParity(t *testing.T) {
	root := projectRoot(t)
	subjects, err := subject.Discover(root)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := check.Targets(subjects, nil)
	if err != nil {
		t.Fatal(err)
	}
	report := run(t, newBackend(t, cmp.Or(os.Getenv("PARITY_BACKEND"), backend.KindAuto)), targets)
	for _, target := range targets {
		counts := report.Counts(target.ID())
		t.Logf("%s: %d vectors, %d passed, %d known differences", target.ID(), counts.Vectors, counts.Passed, counts.Known)
		if counts.Vectors < 200 {
			t.Errorf("%s was sent %d vectors only", target.ID(), counts.Vectors)
		}
	}
}

// A fifth subject is a folder and no Go code in the harness. This one lies outside servers/.
func TestFifthSubject(t *testing.T) {
	subjects, err := subject.Discover(projectRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	targets, err := check.Targets(subjects, []string{"./testdata/fifth"})
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) != 2 {
		t.Fatalf("%d targets, wanted the subject and its variant", len(targets))
	}
	run(t, newBackend(t, backend.KindProcess), targets)
}

func projectRoot(t *testing.T) string {
	t.Helper()
	root, err := subject.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func newBackend(t *testing.T, kind string) backend.Backend {
	t.Helper()
	b, err := backend.New(t.Context(), kind, backend.Options{Root: projectRoot(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Log(strings.Join(b.Notes(), "; "))
	return b
}

func run(t *testing.T, b backend.Backend, targets []subject.Target) *gate.Report {
	t.Helper()
	report, err := check.Run(t.Context(), check.Options{
		Root: projectRoot(t), Backend: b, Targets: targets, Seed: seed, Progress: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if !report.OK() {
		t.Error(text.String())
	}
	return report
}
