package verify_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/verify"
	"github.com/mcp-parity/mcp-parity/internal/verify/verifytest"
)

func TestUntouched(t *testing.T) {
	found, err := verify.Folder(verifytest.Run(t))
	if err != nil {
		t.Fatal(err)
	}
	// 7 launches with three files, one with one, run.json and report.md.
	if found.Files != 24 || found.Launches != 8 || found.Cells != 4 || len(found.Differences) > 0 {
		t.Errorf("got %+v, wanted 24 files, 8 launches, 4 cells and no difference", found)
	}
}

// edit replaces the first occurrence of old, which must be there.
func edit(t *testing.T, file, old, replacement string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(text, []byte(old), []byte(replacement), 1)
	if bytes.Equal(changed, text) {
		t.Fatalf("%q is not in %s", old, file)
	}
	write(t, file, changed)
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// sign writes the list of checksums anew, as somebody who alters a run on purpose would.
func sign(t *testing.T, dir string) {
	t.Helper()
	sums, err := result.Checksums(dir)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&text, "%s  %s\n", sums[name], name)
	}
	write(t, filepath.Join(dir, result.SumsFile), text.Bytes())
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// TestAltered alters a run in one place each; every time the place must be named, and with a new list of checksums too if
// anything else in the folder tells what was there.
func TestAltered(t *testing.T) {
	const first = "launches/001-" // launch 1 is valid
	for _, test := range []struct {
		name  string
		alter func(t *testing.T, dir string)
		// want are beginnings of differences, each of which must be found; signed are those that must be found with a new list.
		want, signed []string
	}{
		{"a byte of a histogram",
			func(t *testing.T, dir string) { flip(t, launchFile(t, dir, "measure.hlog")) },
			[]string{first + "*/measure.hlog: altered: its SHA-256 is ", "run.json /launches/0/invalid: stored absent, recomputed [\"read the histogram measure.hlog: "},
			[]string{"run.json /launches/0/invalid: stored absent, recomputed [\"read the histogram measure.hlog: ", "run.json /upstream/fastest_subject: "}},
		{"a digit of a table",
			func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "report.md"), " | 0 |\n", " | 1 |\n") },
			[]string{"report.md: altered: ", "report.md line 5: stored \"| **list** | go |"},
			[]string{"report.md line 5: "}},
		{"a line more in the report",
			func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "report.md"), "# Tiny", "More\n# Tiny") },
			[]string{"report.md line 1: stored \"More\", recomputed \"# Tiny\""}, nil},
		{"a figure",
			func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "run.json"), `"p50_ms": `, `"p50_ms": 1`)
			},
			[]string{"run.json: altered: ", "run.json /cells/0/figures/p50_ms: stored 1", "report.md line 5: "}, []string{"run.json /cells/0/figures/p50_ms: stored 1"}},
		{"a count",
			func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "run.json"), `"ok": 990`, `"ok": 991`) },
			[]string{"run.json /launches/0/counts/ok: stored 991, recomputed 990"}, nil},
		{"a window",
			func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "run.json"), `"end": "2026-10-01T12:00:22.123Z"`, `"end": "2026-10-01T12:00:22.122Z"`)
			},
			[]string{`run.json /launches/0/window/end: stored "2026-10-01T12:00:22.122Z", recomputed "2026-10-01T12:00:22.123Z"`}, nil},
		{"CPU time",
			func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "run.json"), `"cpu_seconds": 4.5252`, `"cpu_seconds": 4.5253`)
			},
			[]string{"run.json /launches/0/server/cpu_seconds: stored 4.5253, recomputed 4.5252"}, nil},
		{"CPU time in the readings",
			func(t *testing.T, dir string) { edit(t, launchFile(t, dir, "usage.csv"), ",502800,", ",502900,") },
			[]string{first + "*/usage.csv: altered", "run.json /launches/0/server/cpu_seconds: stored 4.5252, recomputed 4.5251"},
			[]string{"run.json /launches/0/server/cpu_seconds: stored 4.5252, recomputed 4.5251"}},
		{"idle memory",
			func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "run.json"), `"memory_idle_bytes": 1048576`, `"memory_idle_bytes": 48576`)
			},
			[]string{"run.json /launches/0/server/memory_idle_bytes: stored 48576, recomputed 1048576"}, nil},
		{"peak memory",
			func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "run.json"), `"memory_peak_bytes": 5`, `"memory_peak_bytes": `)
			},
			[]string{"run.json /launches/0/server/memory_peak_bytes: stored "}, nil},
		{"the seed",
			func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "run.json"), `"seed": 7`, `"seed": 8`) },
			[]string{"run.json /launches/"}, nil},
		{"upstream's rate",
			func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "run.json"), `"capacity_per_second": 12345`, `"capacity_per_second": 123`)
			},
			[]string{"run.json /cells/2/invalid: "}, nil},
		{"a verdict",
			func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "run.json"), "      \"invalid\": [\n        \"the server did not start: it exited with 2\"\n      ]", `      "invalid": ["bad luck"]`)
			},
			[]string{"run.json /launches/7/invalid/0: stored \"bad luck\", recomputed \"the server did not start"}, nil},
		{"the folder of another launch",
			func(t *testing.T, dir string) {
				text, err := os.ReadFile(filepath.Join(dir, "run.json"))
				if err != nil {
					t.Fatal(err)
				}
				folders := strings.SplitAfterN(string(text), `"folder": "`, 4)
				one, _, _ := strings.Cut(folders[1], `"`)
				two, _, _ := strings.Cut(folders[2], `"`)
				edit(t, filepath.Join(dir, "run.json"), `"folder": "`+two, `"folder": "`+one)
			},
			[]string{"run.json /launches/1/folder: stored launches/001-"}, nil},
		{"a launch less",
			func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "run.json"), `"launches": 2`, `"launches": 200000000`)
			},
			[]string{"run.json /launches: stored 8 launches, but the experiment has 800000000"}, nil},
		{"the reference",
			func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "run.json"), `"reference": "go"`, `"reference": "java"`)
			},
			[]string{"run.json /experiment/reference: stored java"}, nil},
		{"the form",
			func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "run.json"), `"ok": 990`, `"ok": -990`) },
			[]string{"run.json /launches/0/counts/ok: does not satisfy results/schema/run.schema.json: minimum"}, nil},
		{"an unknown member",
			func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "run.json"), `"seed": 7`, `"sead": 7`) },
			[]string{"run.json: does not satisfy results/schema/run.schema.json: missing property 'seed'", "run.json: does not satisfy results/schema/run.schema.json: additional properties 'sead'"}, nil},
		{"not JSON",
			func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "run.json"), `{`, `[`) },
			[]string{"run.json: not JSON: "}, nil},
		{"a summary",
			func(t *testing.T, dir string) { edit(t, launchFile(t, dir, "summary.json"), `"ok": 990`, `"ok": 980`) },
			[]string{first + "*/summary.json: altered", "run.json /launches/0/counts/ok: stored 990, recomputed 980"}, []string{"run.json /launches/0/invalid: "}},
		{"a file more",
			func(t *testing.T, dir string) { write(t, launchFile(t, dir, "measure.hlog")+".orig", nil) },
			[]string{first + "*/measure.hlog.orig: extra: "}, []string{}},
		{"a histogram less",
			func(t *testing.T, dir string) { remove(t, launchFile(t, dir, "measure.hlog")) },
			[]string{first + "*/measure.hlog: missing"}, []string{"run.json /launches/0/invalid: "}},
		{"a summary less",
			func(t *testing.T, dir string) { remove(t, launchFile(t, dir, "summary.json")) },
			[]string{first + "*/summary.json: missing"}, []string{first + "*/summary.json: read k6's summary: "}},
		{"readings less",
			func(t *testing.T, dir string) { remove(t, launchFile(t, dir, "usage.csv")) },
			[]string{first + "*/usage.csv: missing"}, []string{first + "*/usage.csv: open "}},
		{"no report",
			func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "report.md")) },
			[]string{"report.md: missing, but SHA256SUMS lists it"}, []string{"report.md: missing"}},
		{"a checksum",
			func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "SHA256SUMS"), "  report.md", "  repart.md")
			},
			[]string{"repart.md: missing", "report.md: extra"}, []string{}},
		{"a line of checksums",
			func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "SHA256SUMS"), "  report.md", " report.md") },
			[]string{"SHA256SUMS: line 23 is not"}, []string{}},
		{"no checksums",
			func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "SHA256SUMS")) },
			[]string{"SHA256SUMS: missing"}, []string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := verifytest.Run(t)
			test.alter(t, dir)
			expect(t, dir, test.want)
			if test.signed == nil {
				test.signed = test.want
			}
			sign(t, dir)
			expect(t, dir, test.signed)
		})
	}
}

// expect checks that each wanted beginning is one of a difference, and that there is none if none is wanted.
func expect(t *testing.T, dir string, want []string) {
	t.Helper()
	found, err := verify.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range found.Differences {
		got = append(got, d.String())
	}
	for _, beginning := range want {
		before, after, _ := strings.Cut(beginning, "*")
		if !slices.ContainsFunc(got, func(d string) bool { return strings.HasPrefix(d, before) && strings.Contains(d, after) }) {
			t.Errorf("no difference begins with %q:\n%s", beginning, strings.Join(got, "\n"))
		}
	}
	if len(want) == 0 && len(got) > 0 {
		t.Errorf("wanted no difference:\n%s", strings.Join(got, "\n"))
	}
}

// launchFile is a raw file of the first launch.
func launchFile(t *testing.T, dir, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "launches", "001-*", name))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %q, %v, wanted one file", files, err)
	}
	return files[0]
}

// flip changes a bit of a histogram log where its values are, after the lines of text.
func flip(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)*3/4] ^= 1
	write(t, file, text)
}

func TestMissingRun(t *testing.T) {
	dir := verifytest.Run(t)
	remove(t, filepath.Join(dir, "run.json"))
	expect(t, dir, []string{"run.json: missing, but SHA256SUMS lists it"})
	sign(t, dir)
	if _, err := verify.Folder(dir); err == nil || !strings.Contains(err.Error(), "is not the folder of a run") {
		t.Errorf("got %v, wanted an error", err)
	}
}

func TestRenamed(t *testing.T) {
	dir := verifytest.Run(t)
	other := filepath.Join(filepath.Dir(dir), "2026-10-01-tiny-aaaaaa")
	if err := os.Rename(dir, other); err != nil {
		t.Fatal(err)
	}
	expect(t, other, []string{"run.json /id: stored " + filepath.Base(dir) + ", but the folder's name is 2026-10-01-tiny-aaaaaa"})
}

func TestNotARun(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nope")} {
		if _, err := verify.Folder(dir); err == nil || !strings.Contains(err.Error(), "name one as results/<run>") {
			t.Errorf("got %v, wanted an error that says what to name", err)
		}
	}
}
