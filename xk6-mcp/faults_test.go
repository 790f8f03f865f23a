package mcp

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/testserver"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// One VU meets every fault, one after the other, and each is what its tag says; the call after it succeeds.
func TestFaults(t *testing.T) {
	t.Parallel()
	server, err := testserver.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	for path, faults := range map[string]map[string]testserver.Fault{"/mcp": testserver.Faults(), "/sse": testserver.SSEFaults()} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			transport := map[string]string{"/mcp": "streamable-http", "/sse": "sse"}[path]
			run := script(t, fmt.Sprintf(`{url: "http://%s%s", transport: %q}`, server.Addr(), path, transport),
				fmt.Sprintf(`{metrics: "basic", maxMessageSize: %d}`, testserver.Limit))
			for _, name := range testserver.Names(faults) {
				fault := faults[name]
				kind := fault.Kind
				params := `{}`
				if fault.Hangs {
					params = `{timeout: "300ms"}`
				}
				samples := run(fmt.Sprintf(`
					client.session();
					const r = client.session().callTool(%q, {}, %s);
					equal(%q, %q + ': ' + (r.error?.kind ?? ''));
					equal(%t, r.ok);`, name, params, name+": "+kind, name, kind == ""))
				failed, lost := 0.0, 0.0
				for _, s := range samples {
					switch s.Metric.Name {
					case "mcp_req_failed":
						failed += s.Value
						if s.Value == 1 {
							tag, _ := s.Tags.Get("error_kind")
							assert.Equal(t, kind, tag, name)
						}
					case "mcp_sessions_lost":
						lost += s.Value
					}
				}
				assert.InDelta(t, number(kind != "" && kind != string(wire.KindTool)), failed, 0, name)
				assert.InDelta(t, number(fault.Lost), lost, 0, name)
				run(`for (let i = 0; i < 20; i++) equal(true, client.session().callTool('fine').ok)`)
			}
		})
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
