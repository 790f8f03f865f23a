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
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
	"github.com/mcp-parity/mcp-parity/internal/verify"
	"github.com/mcp-parity/mcp-parity/internal/verify/verifytest"
)

func TestUntouched(t *testing.T) {
	for _, test := range []struct {
		name     string
		dir      string
		launches int
	}{{"complete", verifytest.Run(t), 12}, {"interrupted", verifytest.Partial(t, 5), 5}} {
		found, err := verify.Folder(test.dir)
		if err != nil {
			t.Fatal(err)
		}
		if found.Files == 0 || found.Launches != test.launches || found.Cells != 6 || len(found.Differences) > 0 {
			t.Errorf("%s: got %+v, wanted %d launches, 6 cells and no difference", test.name, found, test.launches)
		}
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
	whole := verifytest.Run(t)
	const first = "launches/001-go-open"
	inRun := func(old, replacement string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "run.json"), old, replacement) }
	}
	inLaunch := func(name, old, replacement string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { edit(t, filepath.Join(dir, first, name), old, replacement) }
	}
	without := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { remove(t, filepath.Join(dir, name)) }
	}
	for _, test := range []struct {
		name  string
		alter func(t *testing.T, dir string)
		// want are beginnings of differences, each of which must be found; signed are those that must be found with a new list.
		want, signed []string
	}{
		{"a byte of a histogram",
			func(t *testing.T, dir string) { flip(t, filepath.Join(dir, first, "tools_list.response.hlog")) },
			[]string{first + "/tools_list.response.hlog: altered: its SHA-256 is ", "run.json /launches/0/"}, []string{"run.json /launches/0/"}},
		{"the values of another second",
			func(t *testing.T, dir string) { move(t, filepath.Join(dir, first, "tools_list.response.hlog")) },
			[]string{"run.json /launches/0/operations/0/latency/"}, nil},
		{"a digit of a table",
			func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "report.md"), "| 186 |", "| 187 |") },
			[]string{"report.md: altered: ", "report.md line 5: stored \"| **closed** | go | 187"},
			[]string{"report.md line 5: "}},
		{"a line more in the report",
			func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "report.md"), "# Tiny", "More\n# Tiny") },
			[]string{"report.md line 1: stored \"More\", recomputed \"# Tiny\""}, nil},
		{"a figure", inRun(`"value": 186`, `"value": 196`), []string{"run.json: altered: ", "run.json /cells/0/figures/calls_per_second/value: stored 196, recomputed 186", "report.md line 5: "},
			[]string{"run.json /cells/0/figures/calls_per_second/value: stored 196"}},
		{"an interval", inRun(`"low": 0.40`, `"low": 0.41`), []string{"run.json /cells/1/figures/ratio/low: stored 0.41"}, nil},
		{"a ratio that can be told apart", inRun(`"same": true`, `"same": false`), []string{"run.json /cells/3/figures/ratio/same: stored false, recomputed true"}, nil},
		{"the noise floor", inRun(`"floor": 0.05`, `"floor": 0.06`), []string{"run.json /noise/5/floor: stored 0.06, recomputed 0.05"}, nil},
		{"a judgement", inRun(`"outcome": "smaller"`, `"outcome": "holds"`), []string{`run.json /judgements/0/outcome: stored "holds", recomputed "smaller"`}, nil},
		{"a published ratio", inRun(`"ratio": 20`, `"ratio": 2`), []string{`run.json /judgements/0/outcome: stored "smaller", recomputed "holds"`}, nil},
		{"the share of the load", inRun(`"load_share": 0.`, `"load_share": 0.9`), []string{"run.json /load_share: stored 0.9"}, nil},
		{"a count", inRun(`"ok": 450`, `"ok": 451`), []string{"run.json /launches/0/counts/ok: stored 451, recomputed 450"}, nil},
		{"a window", inRun(`"end": "2026-10-01T12:00:12Z"`, `"end": "2026-10-01T12:00:11Z"`),
			[]string{`run.json /launches/0/window/end: stored "2026-10-01T12:00:11Z", recomputed "2026-10-01T12:00:12Z"`}, nil},
		{"a class", inRun(`"class": "flat"`, `"class": "warmup"`), []string{`run.json /launches/0/warmup/class: stored "warmup", recomputed "flat"`}, nil},
		{"the asked rate", inRun(`"rate": 50`, `"rate": 60`), []string{"run.json /launches/0/asked_per_second: stored 50, recomputed 60", "run.json /launches/0/invalid: stored absent"}, nil},
		{"CPU time", inRun(`"cpu_seconds": 4.5`, `"cpu_seconds": 4.4`), []string{"run.json /launches/0/server/cpu_seconds: stored 4.4, recomputed 4.5"}, nil},
		{"CPU time in the readings", inLaunch("usage.csv", ",1750000,", ",1750900,"), []string{first + "/usage.csv: altered", "run.json /launches/0/server/cpu_seconds: stored 4.5, recomputed 4.4"},
			[]string{"run.json /launches/0/server/cpu_seconds: stored 4.5, recomputed 4.4"}},
		{"CPU time of the generator in the readings", inLaunch("machine.csv", ",875000,437500,", ",875900,437500,"), []string{"run.json /launches/0/generator/cpu_seconds: stored 2.25, recomputed 2.24"}, nil},
		{"idle memory", inRun(`"memory_idle_bytes": 1048576`, `"memory_idle_bytes": 48576`), []string{"run.json /launches/0/server/memory_idle_bytes: stored 48576, recomputed 1048576"}, nil},
		{"peak memory", inRun(`"memory_peak_bytes": 2`, `"memory_peak_bytes": 1`), []string{"run.json /launches/0/server/memory_peak_bytes: stored "}, nil},
		{"the seed", inRun(`"seed": 7`, `"seed": 8`), []string{"run.json /launches/"}, nil},
		{"a block", inRun(`"block": 1`, `"block": 2`), []string{"run.json /launches/0/block: stored 2, recomputed 1"}, nil},
		{"a launch that was made again", inRun("      \"block\": 1,\n", "      \"block\": 1,\n      \"again\": true,\n"), []string{"run.json /launches/0/again: stored true, recomputed absent"}, nil},
		{"upstream's rate", inRun(`"capacity_per_second": 12345`, `"capacity_per_second": 123`), []string{"run.json /cells/0/invalid: "}, nil},
		{"a warm-up", inRun(`"node": "5s"`, `"node": "4s"`), []string{"run.json /launches/"}, nil},
		{"a verdict", inRun("      \"invalid\": [\n        \"the server did not start: it exited with 2\"\n      ]", `      "invalid": ["bad luck"]`),
			[]string{"run.json /launches/11/invalid/0: stored \"bad luck\", recomputed \"the server did not start"}, nil},
		{"the folder of another launch", inRun(`"folder": "launches/002-node-open"`, `"folder": "launches/001-go-open"`), []string{"run.json /launches/1/folder: stored launches/001-"}, nil},
		{"a rate of a search", inRun(`"asked_per_second": 32`, `"asked_per_second": 33`), []string{"run.json /launches/3/search/0: stored a rate of 33 (confirming: false), but the search goes on with 32"}, nil},
		{"the folder of a step", inRun("004-node-capacity/steps/01-r32", "004-node-capacity/steps/02-r45"),
			[]string{"run.json /launches/3/search/0/folder: stored launches/004-node-capacity/steps/02-r45, wanted launches/004-node-capacity/steps/01-r32"}, nil},
		{"an objective", inRun(`"latency": "50ms"`, `"latency": "61ms"`), []string{"run.json /launches/3/search"}, nil},
		{"a step that was met", inRun(`"met": false`, `"met": true`), []string{"run.json /launches/2/search/2/met: stored true, recomputed false"}, nil},
		{"the last step", cutSearch, []string{"run.json /launches/2/search: stored 6 steps, but the search goes on with 96"}, nil},
		{"fewer launches in the experiment", inRun(`"launches": 2`, `"launches": 1`), []string{"run.json /launches: stored 12 launches of a complete run, but the experiment has 10"}, nil},
		{"more launches in the experiment", inRun(`"launches": 2`, `"launches": 3`), []string{"run.json /launches: stored 12 launches of a complete run, but the experiment has 14"}, nil},
		{"more launches than can be", inRun(`"launches": 2`, `"launches": 200000000`), []string{"run.json /experiment/workloads/0/launches: does not satisfy results/schema/run.schema.json: maximum"}, nil},
		{"the state", inRun(`"status": "complete"`, `"status": "partial"`), []string{`run.json /status: stored "partial", recomputed "complete"`}, nil},
		{"the reference", inRun(`"reference": "go"`, `"reference": "java"`), []string{"run.json /experiment/workloads/0/reference: stored java"}, nil},
		{"the form", inRun(`"ok": 450`, `"ok": -450`), []string{"run.json /launches/0/counts/ok: does not satisfy results/schema/run.schema.json: minimum"}, nil},
		{"another version", inRun(`"schema_version": 3`, `"schema_version": 1`), []string{"run.json /schema_version: stored 1, wanted 3: verify it with the release"}, nil},
		{"an unknown member", inRun(`"seed": 7`, `"sead": 7`),
			[]string{"run.json: does not satisfy results/schema/run.schema.json: missing property 'seed'", "run.json: does not satisfy results/schema/run.schema.json: additional properties 'sead'"}, nil},
		{"not JSON", inRun(`{`, `[`), []string{"run.json: not JSON: "}, nil},
		{"a summary", inLaunch(stats.SummaryFile, `"ok": 650`, `"ok": 651`), []string{first + "/summary.json: altered", first + ": the histograms tools_list.hlog hold 650 values, but summary.json counts 651"},
			[]string{first + ": the histograms tools_list.hlog hold 650 values"}},
		{"an error in a summary", inLaunch(stats.SummaryFile, `"failed": 0`, `"failed": 1`), []string{"run.json /launches/0/counts/failed: stored 0, recomputed 1"}, nil},
		{"dropped iterations", inLaunch(stats.IterationsFile, `"dropped_iterations": 0`, `"dropped_iterations": 1`), []string{"run.json /launches/0/counts/dropped: stored 0, recomputed 1"}, nil},
		{"a file more", func(t *testing.T, dir string) { write(t, filepath.Join(dir, first, "tools_list.hlog.orig"), nil) },
			[]string{first + "/tools_list.hlog.orig: extra: "}, []string{}},
		{"a histogram less", without(first + "/tools_list.hlog"), []string{first + "/tools_list.hlog: missing"}, []string{first + ": read the histograms tools_list.hlog: no such file"}},
		{"a summary less", without(first + "/summary.json"), []string{first + "/summary.json: missing"}, []string{first + ": read k6's summary: "}},
		{"readings less", without(first + "/usage.csv"), []string{first + "/usage.csv: missing"}, []string{first + ": read usage.csv: "}},
		{"no report", without("report.md"), []string{"report.md: missing, but SHA256SUMS lists it"}, []string{"report.md: missing"}},
		{"a checksum", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "SHA256SUMS"), "  report.md", "  repart.md")
		},
			[]string{"repart.md: missing", "report.md: extra"}, []string{}},
		{"a line of checksums", func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "SHA256SUMS"), "  report.md", " report.md") },
			[]string{"SHA256SUMS: line "}, []string{}},
		{"no checksums", without("SHA256SUMS"), []string{"SHA256SUMS: missing"}, []string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), filepath.Base(whole))
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
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

// flip changes a bit of a histogram log among the values of its seventh interval.
func flip(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	intervals := bytes.SplitAfter(text, []byte(",HISTF"))
	intervals[7][40] ^= 1
	write(t, file, bytes.Join(intervals, nil))
}

// move puts other values into the fifth interval of a histogram log, as many as there were.
func move(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h := hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	if err := h.RecordValues(1_000_000, 50); err != nil {
		t.Fatal(err)
	}
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	fields := bytes.Split(lines[len(lines)-5], []byte(","))
	fields[3] = encoded
	lines[len(lines)-5] = bytes.Join(fields, []byte(","))
	write(t, file, append(bytes.Join(lines, []byte("\n")), '\n'))
}

// cutSearch removes the last step of the first search.
func cutSearch(t *testing.T, dir string) {
	t.Helper()
	run, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Launches {
		if l := &run.Launches[i]; l.Search != nil {
			l.Search = l.Search[:len(l.Search)-1]
			break
		}
	}
	var text bytes.Buffer
	if err := run.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, result.RunFile), text.Bytes())
}

// TestInterrupted: a run with fewer launches than the experiment has must say so.
func TestInterrupted(t *testing.T) {
	dir := verifytest.Partial(t, 5)
	edit(t, filepath.Join(dir, "run.json"), `"status": "partial"`, `"status": "complete"`)
	expect(t, dir, []string{"run.json: altered", "run.json /launches: stored 5 launches of a complete run, but the experiment has 12"})
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
