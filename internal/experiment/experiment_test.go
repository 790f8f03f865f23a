package experiment_test

import (
	"cmp"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
)

const root = "../.."

func TestQuick(t *testing.T) {
	e, err := experiment.Find(root, "quick")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(e.Plan(1)), 20; got != want {
		t.Errorf("quick has %d launches, wanted %d", got, want)
	}
	if _, err := os.Stat(e.Load.Script(root)); err != nil {
		t.Error(err)
	}
	arguments, err := e.Workload("process_json_data").ArgumentsJSON()
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

func TestFindListsKnown(t *testing.T) {
	_, err := experiment.Find(root, "quikc")
	if err == nil || !strings.Contains(err.Error(), `"quikc"`) || !strings.Contains(err.Error(), "quick") {
		t.Errorf("got %v, wanted an error that names quikc and lists quick", err)
	}
}

const valid = `name: x
title: X
subjects: [go, go/stateful]
reference: go
load:
  shape: closed
  users: 2
  warmup: 1s
  duration: 2s
launches: 3
workloads:
  - name: fib
    tool: calculate_fibonacci
    arguments: {n: 3}
  - name: list
    method: tools/list
`

func TestParse(t *testing.T) {
	e, err := experiment.Parse("experiments/x.yaml", []byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var again experiment.Experiment
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if got, want := again.Load, e.Load; got != want {
		t.Errorf("through JSON: load is %+v, wanted %+v", got, want)
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"users: 2", "users: 0", "experiments/x.yaml:7: `load.users` is 0"},
		{"users: 2", "users: many", "experiments/x.yaml:7: "},
		{"users: 2", "user: 2", `experiments/x.yaml:7: unknown field "user"`},
		{"shape: closed", "shape: open", "experiments/x.yaml:6: `load.shape` is \"open\""},
		{"warmup: 1s", "warmup: 1", `experiments/x.yaml:8: "1" is not a duration`},
		{"warmup: 1s", "warmup: -1s", "experiments/x.yaml:8: `load.warmup` is -1s"},
		{"duration: 2s", "duration: 2ms", "experiments/x.yaml:9: `load.duration` is 2ms"},
		{"launches: 3", "launches: 0", "experiments/x.yaml:10: `launches` is 0"},
		{"title: X", "", "experiments/x.yaml:1: `title` is missing"},
		{"name: x\n", "name: y\n", "experiments/x.yaml:1: `name` is \"y\""},
		{"reference: go", "reference: java", "experiments/x.yaml:4: `reference` is \"java\""},
		{"go/stateful", "go", "experiments/x.yaml:3: `subjects[1]` is \"go\" a second time"},
		{"name: list", "name: fib", "experiments/x.yaml:15: `workloads[1].name` is \"fib\" a second time"},
		{"name: list", "name: a/b", "experiments/x.yaml:15: `workloads[1].name` is \"a/b\""},
		{"method: tools/list", "method: ping", "experiments/x.yaml:16: `workloads[1].method` is \"ping\""},
		{"    method: tools/list\n", "", "`workloads[1]` needs either"},
		{"tool: calculate_fibonacci", "tool: [", "experiments/x.yaml:1"},
	} {
		text := strings.Replace(valid, test.old, test.new, 1)
		if text == valid {
			t.Fatalf("%q is not in the file", test.old)
		}
		_, err := experiment.Parse("experiments/x.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("with %q: got error %v, wanted %q in it", test.new, err, test.want)
		}
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
	cells := map[[2]string]int{}
	for i, l := range plan {
		if l.Number != i+1 {
			t.Errorf("launch %d has number %d", i+1, l.Number)
		}
		cells[[2]string{l.Subject, l.Workload}]++
	}
	if len(cells) != 4 {
		t.Errorf("got %d cells, wanted 4", len(cells))
	}
	for cell, n := range cells {
		if n != e.Launches {
			t.Errorf("%v has %d launches, wanted %d", cell, n, e.Launches)
		}
	}
	for block := range slices.Chunk(plan, len(e.Subjects)) {
		bySubject := slices.Clone(block)
		slices.SortFunc(bySubject, func(a, b experiment.Launch) int { return cmp.Compare(a.Subject, b.Subject) })
		if bySubject[0].Subject != "go" || bySubject[1].Subject != "go/stateful" || block[0].Workload != block[1].Workload {
			t.Errorf("block %v: wanted every subject once, under one workload", block)
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
