package mcp

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/metrics"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/testserver"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// One VU meets every fault of a transport, one after the other, and each is what its tag says; the call after it succeeds.
func TestFaults(t *testing.T) {
	t.Parallel()
	server, err := testserver.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	for transport, test := range map[string]struct {
		target map[string]any
		faults map[string]testserver.Fault
	}{
		"streamable-http": {map[string]any{"url": "http://" + server.Addr() + "/mcp"}, testserver.Faults()},
		"sse":             {map[string]any{"url": "http://" + server.Addr() + "/sse", "transport": "sse"}, testserver.SSEFaults()},
		"stdio":           {map[string]any{"command": []string{os.Args[0]}, "env": map[string]string{stdioEnv: faultyChild}}, testserver.StdioFaults()},
	} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			run, vu := scriptAndVU(t, quote(t, test.target), fmt.Sprintf(`{metrics: "basic", maxMessageSize: %d}`, testserver.Limit))
			var all []metrics.Sample
			died := 0
			for _, name := range testserver.Names(test.faults) {
				fault := test.faults[name]
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
				all = append(all, samples...)
				all = append(all, run(`for (let i = 0; i < 20; i++) equal(true, client.session().callTool('fine').ok)`)...)
				if kind == string(wire.KindExit) {
					died++
				}
			}
			if transport != "stdio" {
				return
			}
			all = await(t, vu, all, "mcp_stdio_exits", died)
			noise := 0.0
			for _, s := range all {
				switch s.Metric.Name {
				case "mcp_stdio_noise":
					noise += s.Value
				case "mcp_stdio_exits":
					expected, _ := s.Tags.Get("expected")
					assert.Equal(t, "false", expected)
				}
			}
			assert.InDelta(t, 3, noise, 0, "two lines that are no message, and a second reply")
		})
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
