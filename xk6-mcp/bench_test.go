package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/grafana/sobek"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.k6.io/k6/v2/cmd"
	"go.k6.io/k6/v2/js/modules"
)

// k6Env makes the test binary a k6 that also has an extension over the official SDK's client, to compare with.
const k6Env = "XK6_MCP_TEST_K6"

func runK6() {
	modules.Register("k6/x/sdk", sdkModule{})
	cmd.Execute()
}

// sdkModule is the extension that one would write over the SDK: a session per VU, and a result for each call.
type sdkModule struct{}

func (sdkModule) NewModuleInstance(vu modules.VU) modules.Instance { return &sdkInstance{vu: vu} }

type sdkInstance struct {
	vu      modules.VU
	session *sdk.ClientSession
}

func (i *sdkInstance) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{"callTool": func(url, name string, args map[string]any) (sobek.Value, error) {
		ctx := context.Background()
		if i.session == nil {
			client := sdk.NewClient(&sdk.Implementation{Name: "k6", Version: "1"}, nil)
			var err error
			i.session, err = client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true}, nil)
			if err != nil {
				return nil, err
			}
		}
		result, err := i.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			return nil, err
		}
		return i.vu.Runtime().ToValue(!result.IsError), nil
	}}}
}

// cannedEcho answers as cheaply as a server can, so that k6 computes rather than waits: waking up costs CPU time too, and it would be
// counted as the client's.
func cannedEcho(w http.ResponseWriter, r *http.Request) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusNoContent) // the end of a session
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result := `{"content":[{"type":"text","text":"x"}]}`
	switch {
	case message.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case message.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "canned")
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"canned","version":"1"}}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result)
}

// BenchmarkScripts prints the CPU time of a whole k6 process per call of the tool echo, 8 VUs: with this extension,
// with k6/http and the same bytes, and over the SDK's client.
func BenchmarkScripts(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(cannedEcho))
	defer server.Close()
	for _, bench := range []struct{ name, script string }{
		{"mcp", `
			import { Client } from 'k6/x/mcp';
			const client = new Client(__ENV.MCP_URL);
			export default function () { if (!client.session().callTool('echo', {text: 'x'}).ok) throw new Error('failed') }`},
		{"http", `
			import http from 'k6/http';
			const url = __ENV.MCP_URL;
			const headers = {'Content-Type': 'application/json', Accept: 'application/json, text/event-stream'};
			let ready = false, id = 0;
			function post(message) {
				return http.post(url, JSON.stringify({jsonrpc: '2.0', ...message}), {headers});
			}
			export default function () {
				if (!ready) {
					const r = post({id: ++id, method: 'initialize', params: {protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name: 'k6', version: '1'}}});
					headers['Mcp-Session-Id'] = r.headers['Mcp-Session-Id'];
					headers['Mcp-Protocol-Version'] = '2025-11-25';
					post({method: 'notifications/initialized'});
					ready = true;
				}
				const r = post({id: ++id, method: 'tools/call', params: {name: 'echo', arguments: {text: 'x'}}});
				if (JSON.parse(r.body).result.isError) throw new Error('failed');
			}`},
		{"sdk", `
			import { callTool } from 'k6/x/sdk';
			export default function () { if (!callTool(__ENV.MCP_URL, 'echo', {text: 'x'})) throw new Error('failed') }`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "script.js")
			if err := os.WriteFile(path, []byte(bench.script), 0o600); err != nil {
				b.Fatal(err)
			}
			cpu := func(iterations int) float64 {
				k6 := exec.CommandContext(b.Context(), os.Args[0], "run", "--no-usage-report", "--address", "", "--quiet",
					"--summary-mode", "disabled", "--vus", "8", "--iterations", strconv.Itoa(max(8, iterations)), path)
				k6.Env = append(os.Environ(), k6Env+"=1", "K6_AUTO_EXTENSION_RESOLUTION=false", "MCP_URL="+server.URL)
				if output, err := k6.CombinedOutput(); err != nil {
					b.Fatal(fmt.Errorf("%w: %s", err, output))
				}
				return float64((k6.ProcessState.UserTime() + k6.ProcessState.SystemTime()).Microseconds())
			}
			start := cpu(8) // what it takes to start and to stop
			b.ResetTimer()
			b.ReportMetric((cpu(b.N)-start)/float64(b.N), "cpu-us/call")
		})
	}
}
