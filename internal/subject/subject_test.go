package subject

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const valid = `name: go
title: Go (official SDK)
language: {name: Go, version: "1.26"}
sdk: {name: example.org/sdk, version: v1.8.0}
port: 8081
profiles: ["2025-11-25", "2026-07-28"]
env: {GOGC: "200"}
variants:
  - name: stateful
    env: {MCP_SESSIONS: stateful}
    profiles: ["2025-11-25"]
docker:
  context: ../..
  dockerfile: servers/go/Dockerfile
process:
  needs:
    - {command: [go, version], version: "1.26", get: "https://go.dev/dl/"}
  sources: ["."]
  build:
    - [go, build, -o, "{{out}}/server", .]
  run: ["{{out}}/server"]
`

// tree writes a project with the subjects, by the name of the folder, and returns its root.
func tree(t *testing.T, subjects map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range subjects {
		dir := filepath.Join(root, "servers", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{"subject.yaml": text, "Dockerfile": "FROM scratch\n"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestDiscoverReadsAllFields(t *testing.T) {
	second := strings.NewReplacer("name: go\n", "name: ada\n", "8081", "8085", "servers/go", "servers/ada").Replace(valid)
	root := tree(t, map[string]string{"go": valid, "ada": second})
	got, err := Discover(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "ada" {
		t.Fatalf("got %d subjects, the first %q; want ada, go", len(got), got[0].Name)
	}
	want := Subject{
		Dir:      filepath.Join(root, "servers", "go"),
		Name:     "go",
		Title:    "Go (official SDK)",
		Language: Version{"Go", "1.26"},
		SDK:      Version{"example.org/sdk", "v1.8.0"},
		Port:     8081,
		Profiles: []string{"2025-11-25", "2026-07-28"},
		Env:      map[string]string{"GOGC": "200"},
		Variants: []Variant{{"stateful", map[string]string{"MCP_SESSIONS": "stateful"}, []string{"2025-11-25"}}},
		Docker:   &Docker{Context: "../..", Dockerfile: "servers/go/Dockerfile"},
		Process: &Process{
			Needs:   []Need{{[]string{"go", "version"}, "1.26", "https://go.dev/dl/"}},
			Sources: []string{"."},
			Build:   [][]string{{"go", "build", "-o", "{{out}}/server", "."}},
			Run:     []string{"{{out}}/server"},
		},
	}
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Error(diff)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	tests := []struct {
		name, old, new string
		want           []string
	}{
		{"unknown field", "title:", "titel:", []string{":2:", `"titel"`, "allowed here: name, title, language"}},
		{"unknown field inside", "get:", "from:", []string{":17:", `"from"`, "allowed here: command, version, get"}},
		{"unknown field of a variant", "    env: {MCP_SESSIONS", "    environment: {MCP_SESSIONS", []string{":10:", "allowed here: name, env, profiles"}},
		{"wrong type", "8081", "many", []string{":5:", "Port", "int"}},
		{"not YAML", "port: 8081", "port: [", []string{"subject.yaml:"}},
		{"twice", "title: Go (official SDK)", "name: go", []string{":2:", "name"}},
		{"other name", "name: go\n", "name: golang\n", []string{":1: name:", "name of the folder (go)"}},
		{"missing text", "title: Go (official SDK)\n", "", []string{"title: missing"}},
		{"port", "8081", "80", []string{":5: port: 80;", "1024 to 65535"}},
		{"unknown profile", `"2026-07-28"]`, `"2027-01-01"]`, []string{":6: profiles[1]:", "2025-11-25, 2026-07-28"}},
		{"no common profile", `["2025-11-25", "2026-07-28"]`, `["2026-07-28"]`, []string{":6: profiles:", "2025-11-25"}},
		{"warmup", "env: {GOGC", "warmup: 2500ms\nenv: {GOGC", []string{":7: warmup: 2.5s;", "whole seconds, up to 10m0s"}},
		{"too long a warmup", "env: {GOGC", "warmup: 1h\nenv: {GOGC", []string{":7: warmup: 1h0m0s;", "up to 10m0s"}},
		{"no duration", "env: {GOGC", "warmup: long\nenv: {GOGC", []string{":7:", "long"}},
		{"reserved variable", "GOGC:", "PORT:", []string{":7: env.PORT:", "harness"}},
		{"name of a variable", "GOGC:", "GO-GC:", []string{":7: env:", `"GO-GC"`}},
		{"sessions", "MCP_SESSIONS: stateful", "MCP_SESSIONS: on", []string{":10: variants[0].env.MCP_SESSIONS:", "stateless or stateful"}},
		{"variant's name", "name: stateful", "name: Stateful", []string{":9: variants[0].name:"}},
		{"context", "../..", "../../nowhere", []string{":13: docker.context:"}},
		{"dockerfile", "servers/go/Dockerfile", "Dockerfile", []string{":14: docker.dockerfile:"}},
		{"version", `version: "1.26", get`, `version: ">=1.26", get`, []string{":17: process.needs[0].version:", "lowest"}},
		{"no way to get it", `, get: "https://go.dev/dl/"`, "", []string{":17: process.needs[0].get:"}},
		{"source", `sources: ["."]`, `sources: [src]`, []string{":18: process.sources[0]:", "src"}},
		{"no run", `  run: ["{{out}}/server"]`, "", []string{"process.run: missing"}},
		{"placeholder", `run: ["{{out}}/server"]`, `run: ["{{outt}}/server"]`, []string{":21: process.run:", "{{outt}}", "only {{out}}"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(valid, test.old, test.new, 1)
			if text == valid {
				t.Fatal("the test changes nothing")
			}
			_, err := Discover(tree(t, map[string]string{"go": text}))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(test.want, filepath.Join("servers", "go", "subject.yaml")) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %q", err, want)
				}
			}
		})
	}
}

func TestEachMistakeIsReported(t *testing.T) {
	text := strings.NewReplacer("8081", "80", `["."]`, `[src]`).Replace(valid)
	_, err := Discover(tree(t, map[string]string{"go": text, "java": valid}))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"port:", "sources[0]:", "folder (java)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}

func TestPortsAreDistinct(t *testing.T) {
	second := strings.Replace(valid, "name: go\n", "name: ada\n", 1)
	_, err := Discover(tree(t, map[string]string{"go": valid, "ada": second}))
	if err == nil || !strings.Contains(err.Error(), "8081 is the port of ada already") {
		t.Errorf("got %v", err)
	}
}

func TestDiscoverWithoutSubjects(t *testing.T) {
	if _, err := Discover(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no subject found") {
		t.Errorf("got %v", err)
	}
}

func TestSelect(t *testing.T) {
	second := strings.NewReplacer("name: go\n", "name: node\n", "8081", "8083").Replace(valid)
	all, err := Discover(tree(t, map[string]string{"go": valid, "node": second}))
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(tree(t, map[string]string{"fifth": strings.Replace(strings.Replace(valid, "name: go\n", "name: fifth\n", 1), "servers/go", "servers/fifth", 1)}), "servers", "fifth")

	tests := []struct {
		names, want []string
		err         string
	}{
		{nil, []string{"go", "node"}, ""},
		{[]string{"node", "go/stateful"}, []string{"node", "go/stateful"}, ""},
		{[]string{outside, "go"}, []string{"fifth", "go"}, ""},
		{[]string{"rust"}, nil, `unknown subject "rust"; known are go, go/stateful, node, node/stateful`},
		{[]string{"go/"}, nil, `unknown subject "go/"`},
		{[]string{"go", "go"}, nil, `"go" is named twice`},
		{[]string{"./nowhere"}, nil, "has no subject.yaml"},
	}
	for _, test := range tests {
		targets, err := Select(all, test.names)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v: got %v, want %q", test.names, err, test.err)
			}
			continue
		}
		var ids []string
		for _, target := range targets {
			ids = append(ids, target.ID())
		}
		if err != nil || !slices.Equal(ids, test.want) {
			t.Errorf("%v: got %v (%v), want %v", test.names, ids, err, test.want)
		}
	}
}

func TestVariantChangesSettings(t *testing.T) {
	all, err := Discover(tree(t, map[string]string{"go": valid}))
	if err != nil {
		t.Fatal(err)
	}
	targets := all[0].Targets()
	if len(targets) != 2 {
		t.Fatalf("got %d targets, want 2", len(targets))
	}
	base, stateful := targets[0], targets[1]
	if base.Stateful() || !stateful.Stateful() {
		t.Errorf("Stateful: %v for %s, %v for %s", base.Stateful(), base.ID(), stateful.Stateful(), stateful.ID())
	}
	if want := map[string]string{"GOGC": "200"}; !maps.Equal(base.Env(), want) {
		t.Errorf("%s: Env %v, want %v", base.ID(), base.Env(), want)
	}
	if want := map[string]string{"GOGC": "200", "MCP_SESSIONS": "stateful"}; !maps.Equal(stateful.Env(), want) {
		t.Errorf("%s: Env %v, want %v", stateful.ID(), stateful.Env(), want)
	}
	if want := []string{"2025-11-25", "2026-07-28"}; !slices.Equal(base.Profiles(), want) {
		t.Errorf("%s: Profiles %v, want %v", base.ID(), base.Profiles(), want)
	}
	if want := []string{"2025-11-25"}; !slices.Equal(stateful.Profiles(), want) {
		t.Errorf("%s: Profiles %v, want %v", stateful.ID(), stateful.Profiles(), want)
	}
}

func TestFindRoot(t *testing.T) {
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := filepath.Abs("../.."); root != want {
		t.Errorf("got %s, want %s", root, want)
	}
	if _, err := FindRoot(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not inside a checkout") {
		t.Errorf("got %v", err)
	}
}
