package result_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/published"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

const schemaFile = "../../results/schema/run.schema.json"

// example is a run with one valid launch of a search and one that failed; every member that can be there is.
func example() *result.Run {
	start := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	cpu, low, high := 3.5, 0.4, 0.6
	figure := result.Figure{Value: 0.5, Low: &low, High: &high}
	ratio := &result.Ratio{Value: 0.5, Low: &low, High: &high, Pairs: 6, Same: true}
	seconds := func(n int) yamlfile.Duration { return yamlfile.Duration(time.Duration(n) * time.Second) }
	subjects := []string{"go", "go/stateful"}
	return &result.Run{
		SchemaVersion: result.SchemaVersion,
		ID:            result.NewID("tiny", start),
		Status:        result.Partial,
		StartedAt:     start,
		FinishedAt:    start.Add(time.Minute),
		Command:       "parity run tiny",
		Seed:          7,
		Experiment: experiment.Experiment{
			Name: "tiny", Title: "Tiny", Published: "paper", Scale: 0.5, Subjects: subjects,
			Workloads: []experiment.Workload{
				{
					Name: "list", Subjects: subjects, Reference: "go", Launches: 1, Revision: "2025-11-25", Sessions: experiment.SessionsPerUser,
					Load: experiment.Load{
						Shape: experiment.ShapeSearch, Users: 2, Warmup: seconds(1), Duration: seconds(90),
						Objective: &experiment.Objective{Percentile: 99, Latency: yamlfile.Duration(50 * time.Millisecond), Step: seconds(4)},
					},
					Calls: []experiment.Call{{Method: experiment.MethodListTools}},
				},
				{
					Name: "fib", Subjects: subjects, Reference: "go", Launches: 1, Revision: "2025-11-25", Sessions: experiment.SessionsPerCall,
					Load: experiment.Load{
						Shape: experiment.ShapeClosed, Users: 2, Ramp: seconds(1), Sleep: yamlfile.Duration(100 * time.Millisecond), Warmup: seconds(2), Duration: seconds(5),
					},
					Calls: []experiment.Call{{Tool: "calculate_fibonacci", Arguments: map[string]any{"n": 3}}},
				},
				{
					Name: "session", Subjects: subjects, Reference: "go", Launches: 1, Revision: "2025-11-25", Sessions: experiment.SessionsPerCall,
					Load:  experiment.Load{Shape: experiment.ShapeOpen, Users: 2, Rate: 10, Warmup: seconds(2), Duration: seconds(5)},
					Calls: []experiment.Call{},
				},
			},
		},
		Published: &published.Table{
			Name: "paper", Title: "A paper", Source: "Somebody", Method: "as one does", Caveats: []string{"one"},
			Servers:     []published.Server{{Server: "go", Title: "Go", MeanMS: 1, RequestsPerSecond: 1000, CPUPercent: 30, MemoryMB: 20}},
			Operations:  []published.Operation{{Title: "List", Method: experiment.MethodListTools, MeanMS: map[string]float64{"go": 1}}},
			Conclusions: []published.Conclusion{{Text: "it is slow", Figure: published.MeanMS, Tool: "calculate_fibonacci", Server: "go", Against: "java", Ratio: 2}},
		},
		Gate: result.Gate{Vectors: 100, Known: 1, Seed: 2},
		Environment: result.Environment{
			CPUModel: "Some CPU", CPUs: 2, MemoryBytes: 1 << 34, OS: "linux", Kernel: "6.1.0", Arch: "amd64", Virtualization: "kvm", Cgroup: 2, Governor: "performance",
			SwapBytes: 1, LoadBefore: 0.1, Go: "go1.26.8", K6: "v2.2.0", Backend: "docker", Engine: "20.10", Commit: strings.Repeat("a", 40), Dirty: true,
		},
		Budget: result.Budget{ServerCPUs: []int{1}, GeneratorCPUs: []int{0}, MemoryBytes: 1 << 30},
		Subjects: []result.Subject{{
			ID: "go", Title: "Go (official SDK)", Language: result.Version{Name: "Go", Version: "1.26"}, SDK: result.Version{Name: "go-sdk", Version: "v1.8.0"}, Image: "sha256:0",
		}},
		Upstream: &result.Upstream{CapacityPerSecond: 9000, AskedPerSecond: 1000, FastestSubject: "go"},
		Launches: []result.Launch{
			{
				Number: 1, Block: 1, Subject: "go", Workload: "list", Again: true, Folder: "launches/001-go-list", StartedAt: start, EndedAt: start.Add(time.Second),
				ReadySeconds: 0.1, Runtime: "go1.26.8", Warmup: &result.Warmup{Seconds: 2, Class: "warmup", ChangeSeconds: 1, Drift: -0.1},
				Window: &result.Window{Start: start, End: start.Add(9 * time.Second)}, Counts: result.Counts{OK: 900, Requests: 901, Iterations: 900},
				Operations: []result.Operation{{
					Method: experiment.MethodListTools, OK: 900, Histogram: "launches/001-go-list/steps/01-r100/tools_list.hlog", Latency: result.Latency{MeanMS: 1},
				}},
				AskedPerSecond: 100, Lag: &result.Lag{P50MS: 0.1}, Limited: true,
				Search: []result.Step{
					{Folder: "launches/001-go-list/steps/01-r100", AskedPerSecond: 100, AchievedPerSecond: 100, LatencyMS: 3, Met: true, GeneratorShare: 0.1, Confirming: true},
					{Folder: "launches/001-go-list/steps/02-r200", AskedPerSecond: 200, Missed: "too slow"},
				},
				Server:    result.Server{CPUSeconds: &cpu, ThrottledSeconds: 0.1, MemoryIdleBytes: 1, MemoryMeanBytes: 2, MemoryPeakBytes: 3, MemoryEndBytes: 2},
				Generator: result.Generator{CPUSeconds: 1, UpstreamCPUSeconds: 1, Share: 0.1},
				Machine:   result.Machine{Other: 0.1, Stolen: 0.01},
			},
			{
				Number: 2, Block: 1, Subject: "go/stateful", Workload: "list", Folder: "launches/002-go-stateful-list", StartedAt: start, EndedAt: start,
				Failure: "the server did not start", FirstError: "connection refused", Invalid: []string{"the server did not start"}, Generator: result.Generator{ExitCode: -1},
			},
		},
		Cells: []result.Cell{
			{Workload: "list", Subject: "go", Launches: 1, Valid: 1, Figures: &result.Figures{
				CallsPerSecond: figure, IterationsPerSecond: figure, RequestsPerSecond: figure, Limited: true, Ratio: ratio, P50MS: figure, P95MS: figure, P99MS: figure,
				RequestMeanMS: figure, CPUSecondsPer1000: figure, CPUShare: figure, MemoryIdle: figure, MemoryMean: figure, MemoryPeak: figure, GeneratorShare: 0.1,
				Operations: []result.OperationFigures{{
					Method: "tools/call", Tool: "calculate_fibonacci", MeanMS: figure, P50MS: figure, P95MS: figure, P99MS: figure, MeanRatio: ratio,
				}},
			}},
			{Workload: "list", Subject: "go/stateful", Launches: 1, Invalid: []string{"the server did not start"}},
		},
		Noise:      []result.Noise{{Figure: "p50_ms", Repeats: 3, Floor: 0.05}},
		Judgements: []result.Judgement{{Workload: "list", Conclusion: 0, Measured: *ratio, Outcome: result.Holds}},
		LoadShare:  0.9,
		Notes:      []string{"a note"},
	}
}

func encode(t *testing.T, run *result.Run) string {
	t.Helper()
	var text bytes.Buffer
	if err := run.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestSchema(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	validate := func(text string) error {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(value)
	}
	good := encode(t, example())
	if err := validate(good); err != nil {
		t.Errorf("a good run: %v", err)
	}
	for _, test := range []struct{ name, old, new string }{
		{"an unknown member", `"seed": 7`, `"seed": 7, "sead": 8`},
		{"a missing member", `"seed": 7,`, ``},
		{"another version", `"schema_version": 3`, `"schema_version": 4`},
		{"another state", `"status": "partial"`, `"status": "running"`},
		{"a duration that is a number", `"warmup": "1s"`, `"warmup": 1`},
		{"a time without a date", `"finished_at": "2026-10-01T`, `"finished_at": "T`},
		{"an invalid cell without a reason", `"valid": 0,
      "errors": 0,
      "invalid": [
        "the server did not start"
      ]`, `"valid": 0,
      "errors": 0`},
		{"a call of nothing", `"method": "tools/list"`, `"arguments": {}`},
		{"a search without an objective", `"objective": {`, `"objection": {`},
		{"a rate in a closed load", `"ramp": "1s"`, `"rate": 5`},
		{"a histogram outside", `"histogram": "launches/001`, `"histogram": "../001`},
		{"a step outside", `"folder": "launches/001-go-list/steps/`, `"folder": "launches/001-go-list/`},
		{"a negative count", `"ok": 900`, `"ok": -900`},
		{"half an interval", `"low": 0.4,`, ``},
		{"a class that there is not", `"class": "warmup"`, `"class": "hot"`},
		{"an outcome that there is not", `"outcome": "holds"`, `"outcome": "maybe"`},
	} {
		bad := strings.Replace(good, test.old, test.new, 1)
		if bad == good {
			t.Fatalf("%s: %q is not in the run", test.name, test.old)
		}
		if err := validate(bad); err == nil {
			t.Errorf("%s: wanted an error", test.name)
		}
	}
}

func TestCommit(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results")
	run := example()
	folder, err := result.NewFolder(results, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	raw := filepath.Join(folder.Path(), "launches", "001-go-list")
	if err := os.MkdirAll(raw, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(raw, "k6.log"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if names := list(t, results); len(names) != 1 || !strings.HasPrefix(names[0], ".partial-") {
		t.Errorf("before Commit: got %q, wanted a hidden folder only", names)
	}
	path, err := folder.Commit(run, []byte("# Tiny\n"))
	if err != nil {
		t.Fatal(err)
	}
	if names := list(t, results); len(names) != 1 || names[0] != run.ID || path != filepath.Join(results, run.ID) {
		t.Errorf("after Commit: got %q at %s, wanted %s only", names, path, run.ID)
	}
	if got, err := os.ReadFile(filepath.Join(path, result.RunFile)); err != nil || string(got) != encode(t, run) {
		t.Errorf("run.json: %v, or not what WriteJSON writes", err)
	}
	sums, err := os.ReadFile(filepath.Join(path, result.SumsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"  run.json\n", "  report.md\n", "  launches/001-go-list/k6.log\n"} {
		if !strings.Contains(string(sums), name) {
			t.Errorf("%q is not in\n%s", name, sums)
		}
	}
	if strings.Count(string(sums), "\n") != 3 {
		t.Errorf("wanted three lines in\n%s", sums)
	}
	check := exec.Command("sha256sum", "--check", "--strict", result.SumsFile)
	check.Dir = path
	if output, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum --check: %v\n%s", err, output)
	}
	if err := folder.Discard(); err != nil {
		t.Fatal(err)
	}
	if names := list(t, results); len(names) != 1 {
		t.Error("Discard removed a committed run")
	}
	if _, err := result.NewFolder(results, run.ID); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("got %v, wanted an error because the run exists", err)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, result.RunFile)
	good := strings.Replace(encode(t, example()), `"n": 3`, `"n": 9007199254740993`, 1) // more digits than a double has
	for _, test := range []struct{ name, text, want string }{
		{"good", good, ""},
		{"another version", strings.Replace(good, `"schema_version": 3`, `"schema_version": 1`, 1), "schema_version is 1, wanted 3"},
		{"not a run", "[]", "cannot unmarshal array"},
		{"cut off", good[:100], "unexpected EOF"},
	} {
		if err := os.WriteFile(file, []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		run, err := result.Read(dir)
		switch {
		case test.want != "":
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, wanted %q", test.name, err, test.want)
			}
		case err != nil:
			t.Errorf("%s: %v", test.name, err)
		case encode(t, run) != good:
			t.Errorf("%s: read and written again it is\n%s", test.name, encode(t, run))
		}
	}
	if _, err := result.Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "name one as results/<run>") {
		t.Errorf("got %v, wanted an error that says what to name", err)
	}
}

func TestParseChecksums(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	got, err := result.ParseChecksums([]byte(sum + "  a b\n" + sum + "  c/d\n"))
	if want := map[string]string{"a b": sum, "c/d": sum}; err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, wanted %v", got, err, want)
	}
	for text, want := range map[string]string{
		sum + "  a\n\n":               "line 2 is not",
		sum[1:] + "  a\n":             "line 1 is not",
		sum + " *a\n":                 "line 1 is not",
		sum + "  a\n" + sum + "  a\n": "line 2 names a a second time",
	} {
		if _, err := result.ParseChecksums([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, wanted %q", text, err, want)
		}
	}
}

func TestDiscard(t *testing.T) {
	results := t.TempDir()
	folder, err := result.NewFolder(results, "2026-10-01-tiny-000000")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder.Path(), "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := folder.Discard(); err != nil {
		t.Fatal(err)
	}
	if names := list(t, results); len(names) != 0 {
		t.Errorf("got %q, wanted nothing left", names)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestCapture(t *testing.T) {
	git := func(dir string, arguments ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, arguments...)...)
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", arguments, err, output)
		}
	}
	dir := t.TempDir()
	capture := func() result.Environment {
		t.Helper()
		env, err := result.Capture(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if env.CPUs < 1 || env.MemoryBytes == 0 || env.Kernel == "" || !strings.HasPrefix(env.Go, "go") {
			t.Errorf("got %+v, wanted the machine described", env)
		}
		return env
	}
	if env := capture(); env.Commit != "" || env.Dirty {
		t.Errorf("outside git: got %+v, wanted no commit", env)
	}
	git(dir, "init", "--quiet")
	git(dir, "commit", "--quiet", "--allow-empty", "--message=x")
	if env := capture(); len(env.Commit) != 40 || env.Dirty {
		t.Errorf("in a clean checkout: got commit %q, dirty %v", env.Commit, env.Dirty)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if env := capture(); len(env.Commit) != 40 || !env.Dirty {
		t.Errorf("with a new file: got commit %q, dirty %v", env.Commit, env.Dirty)
	}
}
