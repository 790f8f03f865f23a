package experiment_test

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/oracle"
	"github.com/mcp-parity/mcp-parity/internal/subject"
	"github.com/mcp-parity/mcp-parity/internal/upstream"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

const root = "../.."

const second = yamlfile.Duration(time.Second)

func TestAll(t *testing.T) {
	all, err := experiment.All(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
		for _, w := range e.Workloads {
			if _, err := os.Stat(experiment.Script(root, w.Load.Shape)); err != nil {
				t.Error(err)
			}
			for _, c := range w.Calls {
				arguments, err := c.ArgumentsJSON()
				if err != nil {
					t.Fatal(err)
				}
				if c.Tool == "" {
					continue
				}
				if _, err := (oracle.Oracle{Upstream: upstream.Handler()}).Call(c.Tool, arguments); err != nil {
					t.Errorf("%s, workload %s: %s has no successful answer: %v", e.Name, w.Name, c.Tool, err)
				}
			}
		}
	}
	if want := []string{"capacity", "quick", "session-cost", "tmdevlab-v1"}; !slices.Equal(names, want) {
		t.Errorf("experiments are %v, wanted %v", names, want)
	}
}

func TestQuick(t *testing.T) {
	e, err := experiment.Find(root, "quick")
	if err != nil {
		t.Fatal(err)
	}
	arguments, err := e.Workload("process_json_data").Calls[0].ArgumentsJSON()
	if err != nil {
		t.Fatal(err)
	}
	var decoded struct{ Data json.RawMessage }
	if err := json.Unmarshal(arguments, &decoded); err != nil {
		t.Fatal(err)
	}
	if n := len(decoded.Data); n < 950 || n > 1100 {
		t.Errorf("the data of process_json_data has %d bytes, wanted about 1 KB", n)
	}
}

// A subject's own warm-up is the least one under every workload.
func TestFindTakesWarmups(t *testing.T) {
	text := strings.ReplaceAll(valid, "[go, go/stateful, node]", "[go, java, java/stateful]")
	text = strings.ReplaceAll(text, "[python, node, go]", "[node, go]")
	e, err := experiment.Find(tree(t, text), "x")
	if err != nil {
		t.Fatal(err)
	}
	java, err := subject.Load(root + "/servers/java")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]yamlfile.Duration{"java": java.Warmup, "java/stateful": java.Warmup}
	if !reflect.DeepEqual(e.Warmups, want) || java.Warmup == 0 {
		t.Errorf("got %v, wanted %v, and not 0", e.Warmups, want)
	}
	e.Warmups["java"] = 7 * second
	for i := range e.Workloads {
		for id, want := range map[string]yamlfile.Duration{"go": e.Workloads[i].Load.Warmup, "java": max(7*second, e.Workloads[i].Load.Warmup)} {
			if got := e.WorkloadOf(id, e.Workloads[i].Name).Load.Warmup; got != want {
				t.Errorf("%s of %s: a warm-up of %s, wanted %s", id, e.Workloads[i].Name, got, want)
			}
		}
	}
}

func TestFindListsKnown(t *testing.T) {
	_, err := experiment.Find(root, "quikc")
	if err == nil || !strings.Contains(err.Error(), `"quikc"`) || !strings.Contains(err.Error(), "quick") {
		t.Errorf("got %v, wanted an error that names quikc and lists quick", err)
	}
}

// tree writes a project with one experiment beside the servers of this one, and returns its root.
func tree(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for path, content := range map[string]string{"experiments/x.yaml": text, "results/published/a-table.yaml": table} {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"servers", "contract"} {
		target, err := filepath.Abs(filepath.Join(root, folder))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const table = `name: a-table
title: T
source: S
method: M
caveats: [C]
servers:
  - {server: go, title: Go, mean_ms: 2, requests_per_second: 100, cpu_percent: 50, memory_mb: 20}
  - {server: java, title: Java, mean_ms: 1, requests_per_second: 200, cpu_percent: 25, memory_mb: 200}
conclusions: [{text: A, figure: mean_ms, server: go, against: java}]
`

func TestFindChecksNames(t *testing.T) {
	if _, err := experiment.Find(tree(t, valid), "x"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ old, new, want string }{
		{"a-table", "no-table", "experiments/x.yaml:3: `published` is \"no-table\": there is no published table"},
		{"[go, go/stateful, node]", "[go, go/statefull, node]", "experiments/x.yaml:4: `subjects` names \"go/statefull\": use go, go/stateful, java, "},
		{"[python, node, go]", "[rust, node, go]", "experiments/x.yaml:20: `workloads[1].subjects` names \"rust\""},
		{"[python, node, go]", "[java, node, go]", "experiments/x.yaml:23: `workloads[1].revision` is 2026-07-28, which java does not serve: it has 2025-11-25"},
	} {
		_, err := experiment.Find(tree(t, strings.Replace(valid, test.old, test.new, 1)), "x")
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("with %q: got error %v, wanted one that begins with %q", test.new, err, test.want)
		}
	}
}

// valid has every field, each shape of load, and each way to write calls.
const valid = `name: x
title: X
published: a-table
subjects: [go, go/stateful, node]
reference: go
launches: 3
load:
  shape: closed
  users: 2
  ramp: 500ms
  sleep: 100ms
  warmup: 1s
  duration: 20s
workloads:
  - name: fib
    tool: calculate_fibonacci
    arguments: {n: 3}
  - name: list
    method: tools/list
    subjects: [python, node, go]
    reference: node
    launches: 1
    revision: 2026-07-28
    load: {users: 5, duration: 1m}
  - name: steady
    calls:
      - {tool: calculate_fibonacci, arguments: {n: 4}}
      - method: tools/list
    load: {shape: open, users: 4, rate: 50, warmup: 2s, duration: 3s}
  - name: most
    tool: process_json_data
    arguments: {data: {a: [1, null, x]}}
    load:
      shape: search
      users: 100
      objective: {percentile: 99, latency: 50ms, step: 4s}
      warmup: 2s
      duration: 60s
  - name: session
    sessions: per_call
    calls: []
`

func TestParse(t *testing.T) {
	e, err := experiment.Parse("experiments/x.yaml", []byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	closed := experiment.Load{
		Shape: "closed", Users: 2, Ramp: second / 2, Sleep: second / 10, Warmup: second, Duration: 20 * second,
	}
	more := closed
	more.Users, more.Duration = 5, 60*second
	subjects := []string{"go", "go/stateful", "node"}
	want := experiment.Experiment{
		Name: "x", Title: "X", Published: "a-table", Scale: 1, Subjects: []string{"go", "go/stateful", "node", "python"},
		Workloads: []experiment.Workload{
			{
				Name: "fib", Subjects: subjects, Reference: "go", Launches: 3, Load: closed, Revision: "2025-11-25", Sessions: "per_user",
				Calls: []experiment.Call{{Tool: "calculate_fibonacci", Arguments: map[string]any{"n": uint64(3)}}},
			},
			{
				Name: "list", Subjects: []string{"go", "node", "python"}, Reference: "node", Launches: 1, Load: more, Revision: "2026-07-28",
				Sessions: "per_user", Calls: []experiment.Call{{Method: "tools/list"}},
			},
			{
				Name: "steady", Subjects: subjects, Reference: "go", Launches: 3,
				Load:     experiment.Load{Shape: "open", Users: 4, Rate: 50, Warmup: 2 * second, Duration: 3 * second},
				Revision: "2025-11-25", Sessions: "per_user",
				Calls: []experiment.Call{{Tool: "calculate_fibonacci", Arguments: map[string]any{"n": uint64(4)}}, {Method: "tools/list"}},
			},
			{
				Name: "most", Subjects: subjects, Reference: "go", Launches: 3,
				Load: experiment.Load{
					Shape: "search", Users: 100, Warmup: 2 * second, Duration: 60 * second,
					Objective: &experiment.Objective{Percentile: 99, Latency: second / 20, Step: 4 * second},
				},
				Revision: "2025-11-25", Sessions: "per_user",
				Calls: []experiment.Call{{Tool: "process_json_data", Arguments: map[string]any{"data": map[string]any{"a": []any{uint64(1), nil, "x"}}}}},
			},
			{
				Name: "session", Subjects: subjects, Reference: "go", Launches: 3, Load: closed, Revision: "2025-11-25", Sessions: "per_call",
				Calls: []experiment.Call{},
			},
		},
	}
	if diff := gocmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var again experiment.Experiment
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if second, err := json.Marshal(again); err != nil || string(second) != string(text) {
		t.Errorf("through JSON twice: %s, wanted %s (%v)", second, text, err)
	}
}

// mistakes change the valid file; the schema does not see all of them.
var mistakes = []struct {
	old, new, want string
	parseOnly      bool
}{
	{"name: x\n", "name: y\n", ":1: `name` is \"y\"", true},
	{"title: X\n", "", ":1: `title` is missing", false},
	{"workloads:", "workload:", `:14: unknown field "workload"; allowed here: name, title, published, subjects`, false},
	{"    method: tools/list\n    subj", "    methods: tools/list\n    subj", `:19: unknown field "methods"; allowed here: name, subjects`, false},
	{"  users: 2", "  user: 2", `:9: unknown field "user"; allowed here: shape, users, ramp`, false},
	{"published: a-table", "published: a-table\npublished: b", ":4: ", false}, // no YAML to the schema either
	{"workloads:\n", "workloads: [\n", ":14: ", false},

	{"subjects: [go, go/stateful, node]\n", "", "`subjects` is empty", true}, // list has some of its own
	{"subjects: [go, go/stateful, node]", "subjects: []", ":4: `subjects` is empty", false},
	{"go/stateful", "go", ":4: `subjects[1]` is \"go\" a second time", false},
	{"[python, node, go]", "[python, node, python]", ":20: `workloads[1].subjects[2]` is \"python\" a second time", false},
	{"[python, node, go]", "[]", ":20: `workloads[1].subjects` is empty", false},
	{"reference: go\n", "reference: java\n", ":5: `reference` is \"java\"", true},
	{"reference: node\n", "reference: java\n", ":21: `workloads[1].reference` is \"java\": use one of the subjects of workload list, python", true},
	{"launches: 3", "launches: 0", ":6: `launches` is 0", false},
	{"launches: 1\n", "launches: 1001\n", ":22: `workloads[1].launches` is 1001", false},
	{"launches: 3\n", "", "`launches` is 0", true},
	{"revision: 2026-07-28", "revision: 2025-06-18", ":23: `workloads[1].revision` is \"2025-06-18\"", false},
	{"sessions: per_call", "sessions: per_iteration", ":40: `workloads[4].sessions` is \"per_iteration\"", false},
	{"sessions: per_call", "sessions: per_call\n    revision: 2026-07-28", ":40: `workloads[4].sessions` is per_call, but revision 2026-07-28", true},

	{"name: list", "name: fib", ":18: `workloads[1].name` is \"fib\" a second time", true},
	{"name: list", "name: a/b", ":18: `workloads[1].name` is \"a/b\"", false},
	{"method: tools/list\n    subj", "method: ping\n    subj", ":19: `workloads[1].method` is \"ping\"", false},
	{"    method: tools/list\n    subj", "    subj", ":18: `workloads[1]` needs `tool`, `method` or `calls`", false},
	{"method: tools/list\n    subj", "method: tools/list\n    tool: simulate_db_query\n    subj", ":18: `workloads[1]` needs either", false},
	{"method: tools/list\n    subj", "method: tools/list\n    arguments: {}\n    subj", ":20: `workloads[1].arguments` goes with `tool`", false},
	{"method: tools/list\n    subj", "method: tools/list\n    calls: []\n    subj", ":20: `workloads[1].calls` and a call beside it", false},
	{"      - method: tools/list", "      - {}", ":28: `workloads[2].calls[1]` needs either", false},
	{"      - method: tools/list", "      - method: tools/call", ":28: `workloads[2].calls[1].method` is \"tools/call\"", false},
	{"tool: calculate_fibonacci\n", "tool: fibonacci\n", ":16: `workloads[0].tool` is \"fibonacci\": use calculate_fibonacci, ", false},
	{"{n: 3}", "{n: 33}", ":17: `workloads[0].arguments.n` do not fit calculate_fibonacci: ", true},
	{"{n: 3}", "{m: 3}", ":17: `workloads[0].arguments` do not fit calculate_fibonacci: ", true},
	{"{n: 4}", "{n: four}", ":27: `workloads[2].calls[0].arguments.n` do not fit", true},
	{"{n: 3}", "{n: .nan}", ":17: `workloads[0].arguments` cannot be written as JSON", false},
	{"    sessions: per_call\n", "", ":40: `workloads[4].calls` is empty", true}, // sessions may be those of the whole experiment

	{"  shape: closed", "  shape: ramping", ":8: `load.shape` is \"ramping\": use closed, open or search", false},
	{"  shape: closed\n", "", "`load.shape` is \"\"", false},
	{"  users: 2", "  users: 0", ":9: `load.users` is 0", false},
	{"  users: 2", "  users: many", ":9: ", false},
	{"  users: 2\n", "", "`load.users` is 0", false},
	{"{users: 5,", "{users: 10001,", ":24: `workloads[1].load.users` is 10001", false},
	{"  warmup: 1s", "  warmup: 1", `:12: "1" is not a duration`, false},
	{"  warmup: 1s", "  warmup: -1s", ":12: `load.warmup` is -1s", false},
	{"  warmup: 1s", "  warmup: 1500ms", ":12: `load.warmup` is 1.5s: use whole seconds", false},
	{"  warmup: 1s\n", "", "`load.warmup` is missing", false},
	{"  duration: 20s", "  duration: 0s", ":13: `load.duration` is 0s", false},
	{"  duration: 20s\n", "", "`load.duration` is 0s", false},
	{"duration: 1m", "duration: 1m100ms", ":24: `workloads[1].load.duration` is 1m0.1s: use whole seconds", false},
	{"  ramp: 500ms", "  ramp: 2s", ":10: `load.ramp` is 2s: use 0s to 1s", true},
	{"  sleep: 100ms", "  sleep: 2m", ":11: `load.sleep` is 2m0s", true},
	{"  sleep: 100ms", "  rate: 3", ":11: `load.rate` goes with `shape: open` only, and this is closed", false},
	{"{users: 5,", "{users: 5, rate: 7,", ":24: `workloads[1].load.rate` goes with `shape: open` only", true}, // a part of a load
	{"users: 4, rate: 50", "users: 4, rate: 0", ":29: `workloads[2].load.rate` is 0", false},
	{"users: 4, rate: 50", "users: 4", ":29: `workloads[2].load.rate` is 0", false},
	{"users: 4, rate: 50", "users: 4, rate: 50, sleep: 1s", ":29: `workloads[2].load.sleep` goes with `shape: closed` only", false},
	{"users: 4, rate: 50", "users: 4, rate: 50, objective: {percentile: 99, latency: 50ms, step: 4s}", "`workloads[2].load.objective` goes with", false},
	{"      users: 100", "      users: 100\n      rate: 5", ":36: `workloads[3].load.rate` goes with `shape: open` only, and this is search", false},
	{"      objective: {percentile: 99, latency: 50ms, step: 4s}\n", "", ":34: `workloads[3].load.objective` is missing", false},
	{"      warmup: 2s\n", "      warmup: 1s\n", ":37: `workloads[3].load.warmup` is 1s: use 2s or more: a search starts", true},
	{"percentile: 99", "percentile: 100", ":36: `workloads[3].load.objective.percentile` is 100", false},
	{"percentile: 99, ", "", ":36: `workloads[3].load.objective.percentile` is 0", false},
	{"latency: 50ms", "latency: 50us", ":36: `workloads[3].load.objective.latency` is 50µs", false},
	{"step: 4s", "step: 2s", ":36: `workloads[3].load.objective.step` is 2s: use whole seconds, 3s or more", true},
	{"step: 4s", "step: 4s, steps: 3", `:36: unknown field "steps"; allowed here: percentile, latency, step`, false},
}

func TestParseErrors(t *testing.T) {
	for _, test := range mistakes {
		text := strings.Replace(valid, test.old, test.new, 1)
		if text == valid {
			t.Fatalf("%q is not in the file", test.old)
		}
		_, err := experiment.Parse("experiments/x.yaml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "experiments/x.yaml:") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q instead of %q: got error %v, wanted %q in it", test.new, test.old, err, test.want)
		}
	}
}

func TestNoLoad(t *testing.T) {
	_, err := experiment.Parse("x.yaml", []byte("name: x\ntitle: X\nsubjects: [go]\nreference: go\nlaunches: 1\nworkloads: [{name: a, method: tools/list}]\n"))
	if err == nil || !strings.Contains(err.Error(), "`load` is missing") {
		t.Errorf("got %v", err)
	}
}

func TestScaled(t *testing.T) {
	for _, test := range []struct {
		factor                             float64
		ramp, warmup, duration             yamlfile.Duration // as the file says 10s, 60s, 300s
		wantRamp, wantWarmup, wantDuration yamlfile.Duration
	}{
		{1, 10 * second, 60 * second, 300 * second, 10 * second, 60 * second, 300 * second},
		{0.1, 10 * second, 60 * second, 300 * second, second, 6 * second, 30 * second},
		{0.05, 10 * second, 60 * second, 300 * second, second / 2, 3 * second, 15 * second},
		{0.013, 10 * second, 60 * second, 300 * second, 130 * second / 1000, 2 * second, 6 * second}, // floors
		{0.5, second, second, 2 * second, second / 2, second, 2 * second},                            // never more than the file
		{0.5, 0, 0, 9 * second, 0, 0, 6 * second},
		{0.33, 10 * second, 10 * second, 100 * second, 3 * second, 3 * second, 33 * second}, // the ramp stays within the warm-up
	} {
		w := experiment.Workload{Name: "a", Load: experiment.Load{Shape: "closed", Ramp: test.ramp, Warmup: test.warmup, Duration: test.duration}}
		e := experiment.Experiment{Scale: 1, Workloads: []experiment.Workload{w}}
		scaled, err := e.Scaled(test.factor)
		if err != nil {
			t.Fatal(err)
		}
		got := scaled.Workloads[0].Load
		if got.Ramp != test.wantRamp || got.Warmup != test.wantWarmup || got.Duration != test.wantDuration || scaled.Scale != test.factor {
			t.Errorf("%+v: got ramp %s, warm-up %s, duration %s, scale %g", test, got.Ramp, got.Warmup, got.Duration, scaled.Scale)
		}
		if e.Workloads[0].Load != w.Load {
			t.Errorf("scaling by %g changed the experiment itself", test.factor)
		}
	}
	for _, factor := range []float64{0, -1, 1.01, math.NaN(), math.Inf(1)} {
		if _, err := (experiment.Experiment{}).Scaled(factor); err == nil {
			t.Errorf("scale %g is no error", factor)
		}
	}
}

func TestEstimate(t *testing.T) {
	load := experiment.Load{Shape: "closed", Warmup: 10 * second, Duration: 20 * second}
	e := experiment.Experiment{Workloads: []experiment.Workload{
		{Name: "a", Subjects: []string{"go", "node"}, Reference: "go", Launches: 2, Load: load},
	}}
	// Two launches of each: 31 s of load each.
	if got, want := e.Estimate(), 25*time.Second+4*(32500*time.Millisecond); got != want {
		t.Errorf("closed: %s, wanted %s", got, want)
	}
	e.Warmups = map[string]yamlfile.Duration{"go": 5 * second, "node": 25 * second} // of which the first is in what all have
	if got, want := e.Estimate(), 25*time.Second+4*(32500*time.Millisecond)+2*15*time.Second; got != want {
		t.Errorf("closed, with a subject that needs more: %s, wanted %s", got, want)
	}
	e.Warmups = nil
	load.Shape, load.Objective = "search", &experiment.Objective{Step: 4 * second}
	e.Workloads[0].Load = load
	// The warm-up until it was steady for 8 s, six steps of 4 s and two of 20 s, three quarters of a second before each.
	if got, want := e.Estimate(), 25*time.Second+4*(90500*time.Millisecond); got != want {
		t.Errorf("search: %s, wanted %s", got, want)
	}
}

func TestPlan(t *testing.T) {
	e, err := experiment.Parse("experiments/x.yaml", []byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	plan := e.Plan(7)
	if !reflect.DeepEqual(plan, e.Plan(7)) {
		t.Error("the same seed gave two orders")
	}
	type cell struct{ workload, subject string }
	launches := map[cell]int{}
	blocks := map[int][]experiment.Launch{}
	for i, l := range plan {
		if l.Number != i+1 {
			t.Errorf("launch %d has number %d", i+1, l.Number)
		}
		if i > 0 && l.Block != plan[i-1].Block && l.Block != plan[i-1].Block+1 {
			t.Errorf("block %d follows block %d", l.Block, plan[i-1].Block)
		}
		launches[cell{l.Workload, l.Subject}]++
		blocks[l.Block] = append(blocks[l.Block], l)
	}
	for _, w := range e.Workloads {
		for _, s := range w.Subjects {
			if n := launches[cell{w.Name, s}]; n != w.Launches {
				t.Errorf("%s on %s has %d launches, wanted %d", s, w.Name, n, w.Launches)
			}
		}
	}
	for number, block := range blocks {
		w := e.Workload(block[0].Workload)
		want := slices.Clone(w.Subjects)
		var got []string
		for _, l := range block {
			if l.Workload != w.Name {
				t.Errorf("block %d has workloads %s and %s", number, w.Name, l.Workload)
			}
			got = append(got, l.Subject)
		}
		slices.SortFunc(got, cmp.Compare)
		slices.SortFunc(want, cmp.Compare)
		if !slices.Equal(got, want) {
			t.Errorf("block %d has subjects %v, wanted %v", number, got, want)
		}
	}
	orders := map[string]bool{}
	for seed := range uint64(20) {
		var order []string
		for _, l := range e.Plan(seed) {
			order = append(order, l.Subject+" "+l.Workload)
		}
		orders[strings.Join(order, ",")] = true
	}
	if len(orders) < 10 {
		t.Errorf("20 seeds gave only %d orders", len(orders))
	}
}

// Where no launch repeats another, the references are launched again.
func TestPlanForTheNoiseFloor(t *testing.T) {
	workload := func(name, shape string, launches int) experiment.Workload {
		return experiment.Workload{Name: name, Subjects: []string{"go", "node"}, Reference: "node", Launches: launches, Load: experiment.Load{Shape: shape}}
	}
	a, b, search := workload("a", "closed", 1), workload("b", "open", 1), workload("search", "search", 1)
	for _, test := range []struct {
		name      string
		workloads []experiment.Workload
		again     []string
	}{
		{"one round", []experiment.Workload{a, b}, []string{"a", "b"}},
		{"one round, a search too", []experiment.Workload{a, search, b}, []string{"a", "b"}},
		{"one round of searches", []experiment.Workload{search}, []string{"search"}},
		{"more rounds of a search only", []experiment.Workload{a, workload("search", "search", 3)}, []string{"a"}},
		{"more rounds of one workload", []experiment.Workload{a, workload("b", "closed", 2), search}, nil},
		{"more rounds of searches", []experiment.Workload{workload("search", "search", 2)}, nil},
	} {
		plan := experiment.Experiment{Workloads: test.workloads}.Plan(1)
		var again []string
		for i, l := range plan {
			if !l.Again {
				if again != nil {
					t.Errorf("%s: launch %d is not the last round's", test.name, l.Number)
				}
				continue
			}
			again = append(again, l.Workload)
			if l.Subject != "node" || l.Number != i+1 || l.Block != plan[i-1].Block+1 {
				t.Errorf("%s: got %+v after %+v", test.name, l, plan[i-1])
			}
		}
		slices.Sort(again)
		if !slices.Equal(again, test.again) {
			t.Errorf("%s: launched again under %v, wanted %v", test.name, again, test.again)
		}
	}
}
