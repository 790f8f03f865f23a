package gate_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/fauxserver"
	"github.com/mcp-parity/mcp-parity/internal/gate"
	"github.com/mcp-parity/mcp-parity/internal/oracle"
	"github.com/mcp-parity/mcp-parity/internal/upstream"
)

const seed = 42

// both are the wire revisions of a stateless target.
var both = []string{contract.Revision20251125, contract.Revision20260728}

func tools(t *testing.T) []contract.Tool {
	t.Helper()
	tools, err := contract.Tools()
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// vectors returns the contract's vectors and random ones.
func vectors(t *testing.T) []contract.Vector {
	t.Helper()
	written, err := contract.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	random, err := oracle.Oracle{Upstream: upstream.Handler()}.Random(seed, 20)
	if err != nil {
		t.Fatal(err)
	}
	return append(written, random...)
}

// parse reads vectors that a test has written.
func parse(t *testing.T, text string) []contract.Vector {
	t.Helper()
	vectors, err := contract.ParseVectors("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

// upstreamURL starts an upstream service.
func upstreamURL(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(upstream.Handler())
	t.Cleanup(server.Close)
	return server
}

// target starts a server with a fault; the zero Fault has none.
func target(t *testing.T, name string, stateful bool, upstreamURL string, fault fauxserver.Fault) gate.Target {
	t.Helper()
	handler, err := fauxserver.New(fauxserver.Config{Tools: tools(t), Stateful: stateful, UpstreamURL: upstreamURL, Fault: fault})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, name, stateful, handler)
}

func serve(t *testing.T, name string, stateful bool, handler http.Handler) gate.Target {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	profiles := both
	if stateful {
		profiles = both[:1]
	}
	return gate.Target{Name: name, URL: server.URL, Stateful: stateful, Profiles: profiles}
}

// text is the report as people see it.
func text(t *testing.T, report *gate.Report) string {
	t.Helper()
	var out strings.Builder
	if err := report.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A server that keeps the contract passes all vectors in both session modes: so the vectors can be satisfied, and the gate
// reports nothing that is not there.
func TestFaultlessServerPasses(t *testing.T) {
	t.Parallel()
	up := upstreamURL(t)
	targets := []gate.Target{
		target(t, "faux", false, up.URL, fauxserver.Fault{}),
		target(t, "faux/stateful", true, up.URL, fauxserver.Fault{}),
	}
	all := vectors(t)
	opt := gate.Options{Seed: seed}
	report, err := gate.Check(t.Context(), targets, tools(t), all, opt)
	if err != nil {
		t.Fatal(err)
	}
	up.Close()
	opt.Upstream = "stopped"
	stopped, err := gate.Check(t.Context(), targets, tools(t), all, opt)
	if err != nil {
		t.Fatal(err)
	}
	report.Merge(stopped)
	if !report.OK() {
		t.Error(text(t, report))
	}

	// Every vector was sent to some target.
	sent := map[string]bool{}
	for _, result := range report.Results {
		sent[result.Vector] = true
	}
	for _, v := range all {
		if !sent[v.Name] {
			t.Errorf("%s was not sent", v.Name)
		}
	}
}
