package verify_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/verify"
	"github.com/mcp-parity/mcp-parity/internal/verify/verifytest"
)

// After a run is committed: go test ./internal/verify -run TestFresh -update
var update = flag.Bool("update", false, "write the committed runs into README.md and results/RESULTS.md")

const root = "../.."

// published returns the folders of the runs that are committed; without git or outside a checkout all runs, since an archive of
// the tree has no other.
func published(t *testing.T) []string {
	t.Helper()
	output, err := exec.Command("git", "-C", root, "ls-files", "-z", "--", "results").Output()
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrNotFound) || errors.As(err, &exit) {
		folders, err := filepath.Glob(filepath.Join(root, "results", "2*"))
		if err != nil {
			t.Fatal(err)
		}
		return folders
	}
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for file := range strings.SplitSeq(string(output), "\x00") {
		parts := strings.SplitN(file, "/", 3)
		if len(parts) == 3 && strings.HasPrefix(parts[1], "2") {
			folders = append(folders, filepath.Join(root, parts[0], parts[1]))
		}
	}
	return slices.Compact(folders) // git sorts
}

// publishedRuns reads the runs that are committed.
func publishedRuns(t *testing.T) []*result.Run {
	t.Helper()
	var runs []*result.Run
	for _, folder := range published(t) {
		run, err := result.Read(folder)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	return runs
}

// TestPublished verifies every committed run.
func TestPublished(t *testing.T) {
	for _, folder := range published(t) {
		found, err := verify.Folder(folder)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range found.Differences {
			t.Errorf("%s: %s", filepath.Base(folder), d)
		}
	}
}

// TestFresh checks that the pages with figures show the newest committed run of each experiment.
func TestFresh(t *testing.T) {
	runs := newest(publishedRuns(t))
	for _, page := range []struct {
		path, block, content string
	}{
		{"README.md", "quick", excerpt(runs, "quick")},
		{"results/RESULTS.md", "runs", report.Results(runs)},
	} {
		file := filepath.Join(root, page.path)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := fill(string(text), page.block, page.content)
		if err != nil {
			t.Errorf("%s: %v", page.path, err)
			continue
		}
		if want == string(text) {
			continue
		}
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s is not what the committed runs give. To write it: go test ./internal/verify -run TestFresh -update\nwanted:\n%s", page.path, want)
	}
}

// tableFigures are the columns of a table, by the names of their noise floors.
var tableFigures = map[string]func(*result.Figures) result.Figure{
	"calls_per_second":     func(f *result.Figures) result.Figure { return f.CallsPerSecond },
	"p50_ms":               func(f *result.Figures) result.Figure { return f.P50MS },
	"p95_ms":               func(f *result.Figures) result.Figure { return f.P95MS },
	"p99_ms":               func(f *result.Figures) result.Figure { return f.P99MS },
	"cpu_seconds_per_1000": func(f *result.Figures) result.Figure { return f.CPUSecondsPer1000 },
	"memory_idle_bytes":    func(f *result.Figures) result.Figure { return f.MemoryIdle },
	"memory_peak_bytes":    func(f *result.Figures) result.Figure { return f.MemoryPeak },
}

// TestNoiseFloor compares two committed runs that were made alike, one after the other: at least 19 of 20 figures of the reference, of whose
// launches the floor is made, must differ by less than the larger of the noise floors that the two print. docs/methodology.md refers to it.
func TestNoiseFloor(t *testing.T) {
	alike := map[string][]*result.Run{}
	for _, run := range publishedRuns(t) {
		key := run.Command + " at " + run.Environment.Commit
		alike[key] = append(alike[key], run)
	}
	maps.DeleteFunc(alike, func(_ string, runs []*result.Run) bool { return len(runs) < 2 })
	if len(alike) == 0 {
		t.Error("no two committed runs were made alike: run quick twice at one commit")
	}
	for key, runs := range alike {
		one, other := runs[0], runs[1]
		floors := map[string]float64{}
		for _, n := range slices.Concat(one.Noise, other.Noise) {
			floors[n.Figure] = max(floors[n.Figure], n.Floor)
		}
		within, figures := 0, 0
		for _, w := range one.Experiment.Workloads {
			a, b := one.Cell(w.Name, w.Reference).Figures, other.Cell(w.Name, w.Reference).Figures
			if a == nil || b == nil {
				t.Errorf("%s: no valid launch of %s under %s", key, w.Reference, w.Name)
				continue
			}
			for name, of := range tableFigures {
				x, y := of(a).Value, of(b).Value
				t.Logf("%s %s of %s: %.4g and %.4g, the noise floor is %.1f %%", w.Name, name, w.Reference, x, y, 100*floors[name])
				figures++
				if max(x/y, y/x) <= 1+floors[name] {
					within++
				}
			}
		}
		t.Logf("%s: %d of %d figures are within the noise floor", key, within, figures)
		if figures < 20 || 20*within < 19*figures {
			t.Errorf("%s: %d of %d figures are within the noise floor, wanted 19 of 20, of 20 at least", key, within, figures)
		}
	}
}

// newest returns the newest run of each experiment, by the experiment's name.
func newest(runs []*result.Run) []*result.Run {
	sorted := slices.SortedFunc(slices.Values(runs), func(a, b *result.Run) int {
		return cmp.Or(cmp.Compare(a.Experiment.Name, b.Experiment.Name), b.StartedAt.Compare(a.StartedAt))
	})
	return slices.CompactFunc(sorted, func(a, b *result.Run) bool { return a.Experiment.Name == b.Experiment.Name })
}

// excerpt is the table of the run of an experiment; nothing where there is no run.
func excerpt(runs []*result.Run, name string) string {
	i := slices.IndexFunc(runs, func(r *result.Run) bool { return r.Experiment.Name == name })
	if i < 0 {
		return ""
	}
	return report.Excerpt(runs[i])
}

// fill puts the content between the markers of the block. Markdown needs an empty line between a comment and a table.
func fill(text, block, content string) (string, error) {
	begin, end := "<!-- "+block+": begin -->\n", "<!-- "+block+": end -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("there is no block from %s to %s", strings.TrimSpace(begin), end)
	}
	return before + begin + "\n" + content + "\n" + end + after, nil
}

func TestFill(t *testing.T) {
	const fresh = "# A\n\n<!-- b: begin -->\n\n| 1.00 |\n\n<!-- b: end -->\n\nB\n"
	for name, text := range map[string]string{
		"as it is": fresh, "another digit": strings.Replace(fresh, "1.00", "1.01", 1), "empty": strings.Replace(fresh, "\n| 1.00 |\n\n", "", 1),
		"a line more": strings.Replace(fresh, "<!-- b: end -->", "B\n<!-- b: end -->", 1),
	} {
		if got, err := fill(text, "b", "| 1.00 |\n"); err != nil || got != fresh {
			t.Errorf("%s: got error %v and\n%s", name, err, got)
		}
	}
	for _, text := range []string{"# A\n", "<!-- b: begin -->\n", "<!-- c: begin -->\n<!-- c: end -->"} {
		if got, err := fill(text, "b", ""); err == nil {
			t.Errorf("got %q without a block in %q", got, text)
		}
	}
}

func TestExcerpt(t *testing.T) {
	run, err := result.Read(verifytest.Run(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := excerpt([]*result.Run{run}, run.Experiment.Name); got != report.Excerpt(run) || !strings.Contains(got, run.ID) {
		t.Errorf("got %q, wanted the run's table", got)
	}
	if got := excerpt([]*result.Run{run}, "another"); got != "" {
		t.Errorf("got %q for an experiment without a run", got)
	}
}

func TestNewest(t *testing.T) {
	run := func(name string, day int) *result.Run {
		r := &result.Run{StartedAt: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)}
		r.Experiment.Name = name
		return r
	}
	old, other, new := run("quick", 1), run("capacity", 2), run("quick", 3)
	if got := newest([]*result.Run{old, other, new}); !slices.Equal(got, []*result.Run{other, new}) {
		t.Errorf("got %v, wanted the newest of each", got)
	}
}
