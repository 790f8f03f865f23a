package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents are the pages of the repository, by their paths from its root. Reports of runs are made, not written.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.md").Output()
	if err != nil {
		t.Fatalf("list the pages: %v", err)
	}
	pages := map[string]string{}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err == nil && !strings.HasPrefix(path, "results/2") && !strings.Contains(path, "testdata/") {
			pages[path] = string(text)
		}
	}
	if len(pages) < 10 || pages["README.md"] == "" {
		t.Fatalf("found %d pages only", len(pages))
	}
	return pages
}

var (
	// A command is at the start of a line or of a code span. What ends it for the shell ends it here.
	parityCommand = regexp.MustCompile("(?m)(?:^[ \\t]*(?:- run: )?|`)(?:\\./|go run (?:\\.\\./)*\\./cmd/)?parity ([a-z][^`|;#\n]*)")
	longFlag      = regexp.MustCompile(`(?:^|\s)--([a-z][a-z0-9-]*)`)
	testCommand   = regexp.MustCompile(`go test [^\n` + "`" + `]*`)
	testPattern   = regexp.MustCompile(`-(?:run|bench) '?([A-Z]\w+)`)
	testPackage   = regexp.MustCompile(`\./[\w./-]+`)
)

// TestDocumentedCommands keeps the pages from naming a command, a flag, an experiment or a test that there is not. .ci/run runs the
// commands themselves.
func TestDocumentedCommands(t *testing.T) {
	commands := 0
	for path, text := range documents(t) {
		for _, match := range parityCommand.FindAllStringSubmatch(text, -1) {
			commands++
			words := strings.Fields(match[1])
			cmd, _, err := root().Find(words[:1])
			if err != nil {
				t.Errorf("%s: `parity %s`: %v", path, match[1], err)
				continue
			}
			for _, flag := range longFlag.FindAllStringSubmatch(match[1], -1) {
				if cmd.Flags().Lookup(flag[1]) == nil {
					t.Errorf("%s: `parity %s`: there is no --%s", path, match[1], flag[1])
				}
			}
			if words[0] == "run" && len(words) > 1 && !strings.HasPrefix(path, "servers/") && regexp.MustCompile(`^[a-z]`).MatchString(words[1]) {
				if _, err := os.Stat(filepath.Join("../../experiments", words[1]+".yaml")); err != nil {
					t.Errorf("%s: `parity %s`: %v", path, match[1], err)
				}
			}
		}
		for _, command := range testCommand.FindAllString(text, -1) {
			pattern, folder := testPattern.FindStringSubmatch(command), testPackage.FindString(command)
			if pattern == nil || folder == "" {
				continue
			}
			commands++
			folder = strings.TrimSuffix(folder, "/...")
			for _, base := range []string{"../..", filepath.Join("../..", filepath.Dir(path))} {
				if _, err := os.Stat(filepath.Join(base, folder)); err == nil {
					folder = filepath.Join(base, folder)
					break
				}
			}
			if !hasTest(t, folder, pattern[1]) {
				t.Errorf("%s: `%s`: no test there is named like %s", path, command, pattern[1])
			}
		}
	}
	if commands < 40 {
		t.Errorf("found %d commands only", commands)
	}
}

// hasTest reports whether a test or benchmark in the folder has the pattern in its name.
func hasTest(t *testing.T, folder, pattern string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w*)\(`)
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && slices.ContainsFunc(name.FindAllStringSubmatch(string(text), -1), func(m []string) bool { return strings.Contains(m[1], pattern) })
	})
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestDocumentedLinks follows the links from page to page, and to headings.
func TestDocumentedLinks(t *testing.T) {
	pages := documents(t)
	links := 0
	for path, text := range pages {
		for _, match := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), target)
				if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
					t.Errorf("%s: link to %s: %v", path, match[1], err)
					continue
				}
			}
			if anchor != "" && strings.HasSuffix(to, ".md") && !slices.Contains(anchors(pages[to]), anchor) {
				t.Errorf("%s: link to %s: %s has no such heading", path, match[1], to)
			}
		}
	}
	if links < 40 {
		t.Errorf("found %d links only", links)
	}
}

// anchors are the names by which a page's headings are linked to, as GitHub makes them.
func anchors(page string) []string {
	var names []string
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		name := notSlug.ReplaceAllString(strings.ToLower(match[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestGuardWorkflow keeps the workflow that docs/guard.md shows the one that this repository has.
func TestGuardWorkflow(t *testing.T) {
	workflow, err := os.ReadFile("../../.github/workflows/guard.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(documents(t)["docs/guard.md"], "```yaml\n"+string(workflow)+"```\n") {
		t.Error("docs/guard.md does not show .github/workflows/guard.yaml as it is")
	}
}
