package main

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/fauxserver"
	"github.com/mcp-parity/mcp-parity/internal/upstream"
)

// fauxURL starts a server that keeps the contract but for the named fault, and serves the tools.
func fauxURL(t *testing.T, fault string, tools []contract.Tool) string {
	t.Helper()
	up := httptest.NewServer(upstream.Handler())
	t.Cleanup(up.Close)
	config := fauxserver.Config{UpstreamURL: up.URL, Tools: tools}
	if fault != "" {
		i := slices.IndexFunc(fauxserver.Faults, func(f fauxserver.Fault) bool { return f.Name == fault })
		if i < 0 {
			t.Fatalf("no fault is named %q", fault)
		}
		config.Fault = fauxserver.Faults[i]
	}
	handler, err := fauxserver.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// parity runs the command as main does, without ending the process.
func parity(ctx context.Context, args ...string) int {
	cmd := root()
	cmd.SetArgs(args)
	return exitCode(cmd.ExecuteContext(ctx))
}

func TestDiff(t *testing.T) {
	all, err := contract.Tools()
	if err != nil {
		t.Fatal(err)
	}
	mine := all[0]
	mine.Name = "a_tool_of_my_own"
	before := fauxURL(t, "", all)
	vectors := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(vectors, []byte(`
group: mine
vectors:
  - name: rows
    why: my own question
    call: {tool: simulate_db_query, arguments: '{"query":"q","rows":3}'}
    expect: {tool_error: ''}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	junit := filepath.Join(t.TempDir(), "diff.xml")
	for _, test := range []struct {
		name string
		args []string
		want int
	}{
		{"equal", []string{before, fauxURL(t, "", all), "--vector", "fibonacci/*"}, 0},
		{"different", []string{before, fauxURL(t, "off-by-one", all), "--vector", "db/*"}, exitDifferent},
		{"own vectors, whose expectation does not matter", []string{before, fauxURL(t, "", all), "--vectors", vectors, "--junit", junit}, 0},
		{"own vectors, different", []string{before, fauxURL(t, "off-by-one", all), "--vectors", vectors}, exitDifferent},
		{"a tool less", []string{before, fauxURL(t, "", all[1:]), "--vector", "db/*"}, exitDifferent},
		{"tools that no vector calls", []string{fauxURL(t, "", []contract.Tool{mine}), fauxURL(t, "", []contract.Tool{mine})}, exitInconclusive},
		{"nobody there", []string{before, "http://127.0.0.1:1/mcp"}, exitCouldNotRun},
		{"not a URL", []string{before, "127.0.0.1:8081"}, exitCouldNotRun},
		{"not a header", []string{before, before, "--header", "x"}, exitCouldNotRun},
		{"no such vector", []string{before, before, "--vector", "nope/*"}, exitCouldNotRun},
		{"no such file", []string{before, before, "--vectors", "nope.yaml"}, exitCouldNotRun},
		{"one URL", []string{before}, exitCouldNotRun},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := parity(t.Context(), append([]string{"diff"}, test.args...)...); got != test.want {
				t.Errorf("exit code %d, wanted %d", got, test.want)
			}
		})
	}
	text, err := os.ReadFile(junit)
	if err != nil || !strings.Contains(string(text), "mine/rows") {
		t.Errorf("JUnit file: error %v, text %.200s", err, text)
	}
}
