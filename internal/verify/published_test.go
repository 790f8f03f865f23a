package verify_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/verify"
	"github.com/mcp-parity/mcp-parity/internal/verify/verifytest"
)

// After a run of quick is committed: go test ./internal/verify -run TestReadme -update
var update = flag.Bool("update", false, "put the newest committed run of quick into README.md")

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

// TestReadme checks that the table in the README is that of a committed run.
func TestReadme(t *testing.T) {
	var runs []*result.Run
	for _, folder := range published(t) {
		run, err := result.Read(folder)
		if err != nil {
			t.Fatal(err)
		}
		if run.Experiment.Name == "quick" {
			runs = append(runs, run)
		}
	}
	file := filepath.Join(root, "README.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	if *update && len(runs) > 0 {
		newest := slices.MaxFunc(runs, func(a, b *result.Run) int { return a.StartedAt.Compare(b.StartedAt) })
		if readme, err = replaceBlock(readme, newest); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(readme), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkReadme(readme, runs); err != nil {
		t.Errorf("README.md: %v\nTo put the newest committed run there: go test ./internal/verify -run TestReadme -update", err)
	}
}

// block finds what is between the markers, and its place.
var block = regexp.MustCompile(`(?s)<!-- quick: begin -->\n(.*)<!-- quick: end -->`)

// runLink is how the block names its run; see report.Excerpt.
var runLink = regexp.MustCompile(`Run \[([^\]]+)\]`)

// checkReadme checks the block of the README against the committed runs of quick.
func checkReadme(readme string, runs []*result.Run) error {
	match := block.FindStringSubmatch(readme)
	if match == nil {
		return errors.New("there is no block from <!-- quick: begin --> to <!-- quick: end -->")
	}
	got := match[1]
	if got == "" && len(runs) == 0 {
		return nil
	}
	name := runLink.FindStringSubmatch(got)
	if name == nil {
		return fmt.Errorf("the block names no run, but %d are committed", len(runs))
	}
	i := slices.IndexFunc(runs, func(r *result.Run) bool { return r.ID == name[1] })
	if i < 0 {
		return fmt.Errorf("the block names run %s, which is not a committed run of quick", name[1])
	}
	if want := excerpt(runs[i]); got != want {
		return fmt.Errorf("the block is not what run %s gives.\ngot:\n%s\nwanted:\n%s", name[1], got, want)
	}
	return nil
}

func replaceBlock(readme string, run *result.Run) (string, error) {
	place := block.FindStringSubmatchIndex(readme)
	if place == nil {
		return "", errors.New("there is no block from <!-- quick: begin --> to <!-- quick: end -->")
	}
	return readme[:place[2]] + excerpt(run) + readme[place[3]:], nil
}

// excerpt is the block of a run. Markdown needs an empty line between a comment and a table.
func excerpt(run *result.Run) string { return "\n" + report.Excerpt(run) + "\n" }

func TestCheckReadme(t *testing.T) {
	run, err := result.Read(verifytest.Run(t))
	if err != nil {
		t.Fatal(err)
	}
	runs := []*result.Run{run}
	const empty = "# A\n\n<!-- quick: begin -->\n<!-- quick: end -->\n\nB\n"
	fresh, err := replaceBlock(empty, run)
	if err != nil {
		t.Fatal(err)
	}
	again, err := replaceBlock(fresh, run)
	if err != nil || again != fresh || !strings.HasPrefix(fresh, "# A\n") || !strings.HasSuffix(fresh, "\nB\n") {
		t.Errorf("got error %v, text:\n%s", err, again)
	}
	for _, test := range []struct {
		name, readme string
		runs         []*result.Run
		want         string // "" for no error
	}{
		{"fresh", fresh, runs, ""},
		{"nothing committed", empty, nil, ""},
		{"empty", empty, runs, "names no run"},
		{"no run named", strings.Replace(fresh, "Run [", "Run (", 1), runs, "names no run"},
		{"a run that is not committed", fresh, nil, "not a committed run"},
		{"a table but nothing committed", strings.Replace(fresh, "Run [", "Run (", 1), nil, "names no run"},
		{"another digit", strings.Replace(fresh, " | 1.00 |", " | 1.01 |", 1), runs, "is not what run"},
		{"a line more", strings.Replace(fresh, "<!-- quick: end -->", "B\n<!-- quick: end -->", 1), runs, "is not what run"},
		{"no block", "# A\n", runs, "there is no block"},
	} {
		err := checkReadme(test.readme, test.runs)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, wanted %q", test.name, err, test.want)
		}
	}
}
