package contract_test

import (
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/contract"
)

func TestVectorsLoad(t *testing.T) {
	vectors, err := contract.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 120 {
		t.Errorf("%d vectors, wanted at least 120", len(vectors))
	}
	seen := map[string]bool{}
	for _, v := range vectors {
		if seen[v.Name] {
			t.Errorf("two vectors are named %s", v.Name)
		}
		seen[v.Name] = true
	}
	t.Logf("%d vectors", len(vectors))
}

func TestToolsAreSortedByName(t *testing.T) {
	tools, err := contract.Tools()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	if got, want := strings.Join(names, " "), "calculate_fibonacci fetch_external_data process_json_data simulate_db_query"; got != want {
		t.Errorf("tools are %s, wanted %s", got, want)
	}
}

func TestKnownDifferencesLoad(t *testing.T) {
	if _, err := contract.KnownDifferences(); err != nil {
		t.Fatal(err)
	}
}

func TestParseVectorsSaysWhatIsWrong(t *testing.T) {
	const head = "group: g\nvectors:\n"
	for _, test := range []struct{ name, text, want string }{
		{"no group", "vectors: []", "`group` is missing"},
		{"no vectors", "group: g", "`vectors` is empty"},
		{"unknown field", head + "  - {name: a, why: w, cal: {tool: t}, expect: {tools: true}}", `f.yaml:3: unknown field "cal"; allowed here: name, why, profiles, sessions, session, upstream, parallel, min_ms, call, rpc, http`},
		{"no reason", head + "  - {name: a, call: {tool: t}, expect: {tools: true}}", "f.yaml:3: vector g/a: `why` is missing"},
		{"bad name", head + "  - {name: A b, why: w, call: {tool: t}, expect: {tools: true}}", "lower-case"},
		{"no request", head + "  - {name: a, why: w, expect: {tools: true}}", "has 0 requests"},
		{"two requests", head + "  - {name: a, why: w, call: {tool: t}, rpc: {method: m}, expect: {tools: true}}", "has 2 requests"},
		{"no expectation", head + "  - {name: a, why: w, call: {tool: t}}", "`expect` is missing"},
		{"two expectations", head + "  - {name: a, why: w, call: {tool: t}, expect: {tools: true, result: '1'}}", "2 kinds of answer"},
		{"broken golden", head + "  - {name: a, why: w, call: {tool: t}, expect: {result: '{'}}", "not JSON"},
		{"broken template", head + "  - {name: a, why: w, call: {tool: t, arguments: '{{nope}}'}, expect: {tools: true}}", "template"},
		{"twice", head + "  - {name: a, why: w, call: {tool: t}, expect: {tools: true}}\n  - {name: a, why: w, call: {tool: t}, expect: {tools: true}}", "f.yaml:4: the name g/a is taken"},
		{"steps and request", head + "  - {name: a, why: w, call: {tool: t}, expect: {tools: true}, steps: [{call: {tool: t}, expect: {tools: true}}]}", "`steps`"},
		{"sessions", head + "  - {name: a, why: w, sessions: some, call: {tool: t}, expect: {tools: true}}", "stateless or stateful"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := contract.ParseVectors("f.yaml", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, wanted one with %q", err, test.want)
			}
		})
	}
}
