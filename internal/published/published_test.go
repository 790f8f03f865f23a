package published_test

import (
	"math"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/published"
)

const root = "../.."

func TestFind(t *testing.T) {
	table, err := published.Find(root, "tmdevlab-v1")
	if err != nil {
		t.Fatal(err)
	}
	if rows := len(table.Servers) + len(table.Operations); rows != 9 {
		t.Errorf("the tables have %d rows, wanted 9", rows)
	}
	// The source's own factors, computed from figures that it has rounded since, in the order of the file.
	claims := []float64{1, 13, 31, 1, 2.9, 5.6, 1.1, 3.4, 3.3, 12.8, 19, 84, 15, 63, 21, 97, 2.6, 4.1, 24, 93}
	if len(table.Conclusions) != len(claims) {
		t.Fatalf("%d conclusions, wanted %d", len(table.Conclusions), len(claims))
	}
	for i, c := range table.Conclusions {
		if math.Abs(c.Ratio/claims[i]-1) > 0.03 {
			t.Errorf("%s: the ratio is %.3g, wanted about %g", c.Text, c.Ratio, claims[i])
		}
	}
	if got, want := table.Conclusions[19].Ratio, 28.88/0.31; got != want {
		t.Errorf("Python takes %g times as long as Java to list tools, wanted %g", got, want)
	}
}

func TestFindListsKnown(t *testing.T) {
	_, err := published.Find(root, "tmdevlab")
	if err == nil || !strings.Contains(err.Error(), `"tmdevlab"`) || !strings.Contains(err.Error(), "tmdevlab-v1") {
		t.Errorf("got %v, wanted an error that names tmdevlab and lists tmdevlab-v1", err)
	}
}

const valid = `name: x
title: T
source: S
method: M
caveats: [one]
servers:
  - {server: go, title: Go, mean_ms: 2, requests_per_second: 100, cpu_percent: 50, memory_mb: 20}
  - {server: java, title: Java, mean_ms: 1, requests_per_second: 200, cpu_percent: 25, memory_mb: 200}
operations:
  - {title: fib, tool: calculate_fibonacci, mean_ms: {go: 3, java: 4}}
  - {title: list, method: tools/list, mean_ms: {go: 5, java: 4}}
conclusions:
  - {text: A, figure: memory_mb, server: java, against: go}
  - {text: B, figure: mean_ms, server: go, against: java}
  - {text: C, figure: mean_ms, tool: calculate_fibonacci, server: go, against: java}
  - {text: D, figure: mean_ms, method: tools/list, server: go, against: java}
`

func TestParse(t *testing.T) {
	table, err := published.Parse("x.yaml", []byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{10, 2, 0.75, 1.25} {
		if got := table.Conclusions[i].Ratio; got != want {
			t.Errorf("conclusion %s: the ratio is %g, wanted %g", table.Conclusions[i].Text, got, want)
		}
	}
}

// mistakes change the valid file; the schema does not see all of them.
var mistakes = []struct {
	old, new, want string
	parseOnly      bool
}{
	{"name: x", "name: y", ":1: `name` is \"y\"", true},
	{"title: T\n", "", ":1: `title` is missing", false},
	{"source: S", "source: ''", ":3: `source` is missing", false},
	{"method: M\n", "", "`method` is missing", false},
	{"method: M", "methods: M", `:4: unknown field "methods"; allowed here: name, title, source, method`, false},
	{"[one]", "[]", ":5: `caveats` is empty", false},
	{"mean_ms: 2,", "mean_ms: 0,", ":7: `servers[0].mean_ms` is 0", false},
	{"mean_ms: 2,", "mean_ms: two,", ":7: ", false},
	{"memory_mb: 200}", "memory: 200}", `:8: unknown field "memory"; allowed here: server, title, mean_ms`, false},
	{", cpu_percent: 25", "", ":8: `servers[1].cpu_percent` is 0", false},
	{"server: java, title", "server: go, title", ":8: `servers[1].server` is \"go\" a second time", true},
	{"title: Java, ", "", ":8: `servers[1].title` is missing", false},
	{"tool: calculate_fibonacci, mean", "mean", ":10: `operations[0]` needs either", false},
	{"method: tools/list, mean", "tool: calculate_fibonacci, mean", ":11: `operations[1]` has the tool or method of another row", true},
	{"{go: 3, java: 4}", "{go: 3}", ":10: `operations[0].mean_ms` needs a figure above 0 for java", true},
	{"{go: 3, java: 4}", "{go: 3, java: 4, rust: 1}", ":10: `operations[0].mean_ms.rust` is of a server", true},
	{"{go: 3, java: 4}", "{go: 3, java: -4}", ":10: `operations[0].mean_ms` needs a figure above 0 for java", false},
	{"figure: memory_mb", "figure: memory", ":13: `conclusions[0].figure` is \"memory\"", false},
	{"text: A, ", "", ":13: `conclusions[0].text` is missing", false},
	{"server: java, against: go", "server: rust, against: go", ":13: `conclusions[0].server` is \"rust\"", true},
	{"server: java, against: go", "server: java, against: java", ":13: `conclusions[0].against` is \"java\": use another", true},
	{"figure: mean_ms, tool", "figure: cpu_percent, tool", ":15: `conclusions[2].figure` is \"cpu_percent\": of an operation", false},
	{"figure: mean_ms, method: tools/list", "figure: mean_ms, tool: simulate_db_query", ":16: `conclusions[3]` is about an operation", true},
	{"against: go}", "against: go, ratio: 10}", `:13: unknown field "ratio"; allowed here: text, figure, tool, method, server, against`, false},
}

func TestParseErrors(t *testing.T) {
	for _, test := range mistakes {
		text := strings.Replace(valid, test.old, test.new, 1)
		if text == valid {
			t.Fatalf("%q is not in the file", test.old)
		}
		_, err := published.Parse("x.yaml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "x.yaml:") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q instead of %q: got error %v, wanted %q in it", test.new, test.old, err, test.want)
		}
	}
}
