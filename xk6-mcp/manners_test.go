package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/histlog"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/mcptest"
)

// runScript runs k6 with a script and returns what it has printed.
func runScript(t *testing.T, env map[string]string, code string, args ...string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.js")
	require.NoError(t, os.WriteFile(path, []byte(code), 0o600))
	cmd, output := k6(t, env, append(args, path)...)
	err := cmd.Run()
	return output.String(), err
}

// A server that stalls once: the durations hardly show it, the response times from the intended start do.
func TestOpenLoopShowsAStall(t *testing.T) {
	t.Parallel()
	const stall = 1500 * time.Millisecond
	handler := mcptest.Handler(&sdk.StreamableHTTPOptions{JSONResponse: true})
	var first atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().UnixNano()
		first.CompareAndSwap(0, now)
		// From one second after the first request on, nobody is answered for the time of the stall.
		since := time.Duration(now - first.Load())
		if since > time.Second && since < time.Second+stall {
			time.Sleep(time.Second + stall - since)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	output, err := runScript(t, map[string]string{"MCP_URL": server.URL, histogramsEnv: dir}, `
		import { Client } from 'k6/x/mcp';
		export const options = {
			scenarios: { open: { executor: 'constant-arrival-rate', rate: 50, duration: '10s', preAllocatedVUs: 120 } },
			thresholds: { mcp_schedule_lag: ['max>=0'], mcp_response_time: ['p(99)>1000'] },
		};
		const client = new Client(__ENV.MCP_URL);
		export default function () { client.session().callTool('echo', {text: 'x'}) }`)
	require.NoError(t, err, output)

	series := readSummary(t, dir)[histlog.Key{Scenario: "open", Method: "tools/call", Tool: "echo"}]
	assert.Positive(t, series.OK)
	assert.Equal(t, series.OK, series.Responses)
	rows, err := histlog.Merge([]string{dir}, "")
	require.NoError(t, err)
	for _, row := range rows {
		if row.Tool == "echo" {
			assert.Greater(t, row.Response.P99, int64(1_000_000))
			assert.GreaterOrEqual(t, row.Response.P50, row.Duration.P50)
		}
	}
}

func TestRPSLimit(t *testing.T) {
	t.Parallel()
	url := fixture(t, &sdk.StreamableHTTPOptions{JSONResponse: true})
	vu := newTestVU(t)
	vu.state.RPSLimit = rate.NewLimiter(50, 1)
	vu.client(t, url, `{}`)
	vu.run(t, `client.session()`)
	begin := time.Now()
	vu.run(t, `client.session().parallel([{method: 'ping'}, {method: 'ping'}, {method: 'ping'}, {method: 'ping'}, {method: 'ping'}])`)
	assert.GreaterOrEqual(t, time.Since(begin), 80*time.Millisecond)
}

func TestK6Options(t *testing.T) {
	t.Parallel()
	_, url := countingServer(t)
	for name, test := range map[string]struct{ options, url, want string }{
		"blockHostnames": {`{blockHostnames: ['blocked.test']}`, "http://blocked.test/mcp", "connect 1111: "},
		"blacklistIPs":   {`{blacklistIPs: ['127.0.0.0/8']}`, url, "connect 1110: "},
		"hosts":          {fmt.Sprintf(`{hosts: {'server.test': %q}}`, url[len("http://"):len(url)-len("/mcp")]), "http://server.test/mcp", "ok"},
		"throw":          {`{throw: true}`, url, "thrown: rpc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, err := runScript(t, map[string]string{"MCP_URL": test.url}, `
				import { Client } from 'k6/x/mcp';
				export const options = `+test.options+`;
				const client = new Client(__ENV.MCP_URL, {headers: {Host: '127.0.0.1'}});
				export default function () {
					let s;
					try { s = client.session() } catch (e) { console.log(e.kind + ' ' + e.k6Code + ': ' + e.message); return }
					console.log('ok');
					try { s.callTool('none') } catch (e) { console.log('thrown: ' + e.kind) }
				}`)
			require.NoError(t, err, output)
			assert.Contains(t, output, test.want)
		})
	}
}

// A promise that nobody awaits, and a stream that nobody closes, must not keep a run from its end.
func TestAsyncAtTheEnd(t *testing.T) {
	t.Parallel()
	server, url := countingServer(t)
	output, err := runScript(t, map[string]string{"MCP_URL": url}, `
		import { Client } from 'k6/x/mcp';
		export const options = {scenarios: {s: {executor: 'constant-vus', vus: 2, duration: '1s', gracefulStop: '500ms'}}};
		const client = new Client(__ENV.MCP_URL);
		export default function () {
			const s = client.session();
			s.listen().onNotification(() => {});
			s.callToolAsync('slow', {ms: 4000});
		}`)
	require.NoError(t, err, output)
	assert.EqualValues(t, 2, server.deleted.Load())
	assert.NotContains(t, output, "panic")
	assert.NotContains(t, output, "level=error")
}

// What setup() returns is JSON: an id goes through, a session does not.
func TestSetupHandsOverASession(t *testing.T) {
	t.Parallel()
	server, url := countingServer(t)
	output, err := runScript(t, map[string]string{"MCP_URL": url}, `
		import { check } from 'k6';
		import { Client } from 'k6/x/mcp';
		export const options = {vus: 3, iterations: 9, thresholds: {checks: ['rate==1'], mcp_sessions: ['count==1']}};
		const client = new Client(__ENV.MCP_URL);
		export function setup() {
			const {id, protocolVersion} = client.session();
			return {id, protocolVersion};
		}
		export default function (data) {
			check(client.attach(data).callTool('echo', {text: 'x'}), {ok: (r) => r.ok});
		}
		export function teardown(data) {
			check(client.attach(data).ping(), {'still there': (r) => r.ok});
		}`)
	require.NoError(t, err, output)
	assert.EqualValues(t, 1, server.initialized.Load())
	assert.EqualValues(t, 1, server.deleted.Load())
}

func TestAuth(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int64
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id, secret, _ := r.BasicAuth(); id != "me" || secret != "secret" || r.FormValue("grant_type") != "client_credentials" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, fetched.Add(1))
	}))
	t.Cleanup(tokens.Close)
	h := proxy(t, goServer(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token-1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	env := map[string]string{"MCP_URL": server.URL + "/mcp", "TOKEN_URL": tokens.URL, "CLIENT_ID": "me", "CLIENT_SECRET": "secret"}
	cmd, output := k6(t, env, "--vus", "5", "--iterations", "20", "examples/auth.js")
	requireExample(t, cmd, output)
	assert.EqualValues(t, 1, fetched.Load(), "one token for all VUs")

	vu := newTestVU(t)
	for auth, want := range map[string]string{
		`{}`:               `"type" is missing`,
		`{type: "basic"}`:  `"basic": want "bearer" or "client_credentials"`,
		`{type: "bearer"}`: `want {type: "bearer", token: "..."}`,
		`{type: "bearer", token: "x", scope: "y"}`:  `want {type: "bearer", token: "..."}`,
		`{type: "client_credentials", token: "x"}`:  `"token" belongs to type "bearer"`,
		`{type: "client_credentials"}`:              "token",
		`{type: "client_credentials", tokenURL: 1}`: `unknown key "tokenURL"`,
	} {
		_, err := vu.VU.Runtime().RunString(`new mcp.Client("http://h/", {auth: ` + auth + `})`)
		require.ErrorContains(t, err, want, auth)
	}
}

// Processes that each run a segment of a test make, together, what one process would.
func TestExecutionSegments(t *testing.T) {
	t.Parallel()
	_, url := countingServer(t)
	var dirs []string
	for i := range 2 {
		dir := t.TempDir()
		segment := []string{"0:1/2", "1/2:1"}[i]
		output, err := runScript(t, map[string]string{"MCP_URL": url, histogramsEnv: dir}, `
			import { Client } from 'k6/x/mcp';
			export const options = {scenarios: {open: {executor: 'constant-arrival-rate', rate: 40, duration: '1s', preAllocatedVUs: 40}}};
			const client = new Client(__ENV.MCP_URL);
			export default function () { client.session().callTool('echo', {text: 'x'}) }`,
			"--execution-segment", segment, "--execution-segment-sequence", "0,1/2,1")
		require.NoError(t, err, output)
		dirs = append(dirs, dir)
	}
	rows, err := histlog.Merge(dirs, "")
	require.NoError(t, err)
	for _, row := range rows {
		if row.Tool == "echo" {
			assert.InDelta(t, 40, row.OK, 2)
			assert.Equal(t, row.OK, row.Responses)
			assert.Less(t, row.Response.P50, int64(1_000_000), "each segment counts from its own share of the schedule")
		}
	}
}

func TestTagValuesAreBounded(t *testing.T) {
	t.Parallel()
	url := fixture(t, &sdk.StreamableHTTPOptions{JSONResponse: true})
	vu := newTestVU(t)
	vu.client(t, url, `{metrics: "basic"}`)
	vu.run(t, `client.session()`)
	vu.drain()
	seen := map[string]bool{}
	for i := range mostValues + 20 {
		vu.run(t, `client.session().readResource("test:///`+strconv.Itoa(i)+`")`)
		for _, s := range vu.drain() {
			name, _ := s.Tags.Get("name")
			seen[name] = true
		}
	}
	assert.Len(t, seen, mostValues+1)
	assert.True(t, seen["other"])
}

func TestStdioProcessIsCounted(t *testing.T) {
	t.Parallel()
	target := quote(t, map[string]any{"command": []string{os.Args[0]}, "env": map[string]string{stdioEnv: "1"}, "stderr": "log"})
	vu := newTestVU(t)
	_, err := vu.VU.Runtime().RunString(`const client = new mcp.Client(` + target + `)`)
	require.NoError(t, err)
	vu.run(t, `client.session().callTool("echo", {text: "x"}); client.session().close()`)
	samples := vu.drain()
	assert.Positive(t, one(t, samples, "mcp_stdio_spawn_duration").Value)
	expected, _ := one(t, samples, "mcp_stdio_exits").Tags.Get("expected")
	assert.Equal(t, "true", expected)
	var sent float64
	for _, s := range samples {
		if s.Metric.Name == "data_sent" {
			sent += s.Value
		}
	}
	assert.Greater(t, sent, 100.0)

	vu.run(t, `client.session()`)
	vu.drain()
	vu.run(t, `
		const r = new mcp.Client({command: ["/bin/cat"]}, {timeout: "200ms"});
		let e; try { r.connect() } catch (x) { e = x }
		if (e === undefined) throw new Error("cat is no server");
		try { new mcp.Client({command: ["/does/not/exist"]}).connect(); e = undefined } catch (x) { e = x }
		if (e?.kind !== "spawn") throw new Error(String(e?.kind))`)
}

func TestTaskQueue(t *testing.T) {
	t.Parallel()
	vu := newTestVU(t)
	vu.MoveToVUContext(vu.state)
	vu.VU.CtxField = context.Background()
	var got []int
	rt := vu.VU.Runtime()
	require.NoError(t, rt.Set("start", func() {
		q := newTaskQueue(vu.VU)
		go func() {
			for i := range 100 {
				q.add(func() error {
					got = append(got, i)
					return nil
				})
			}
			q.close()
			q.close()
			q.add(func() error { panic("after the end") })
		}()
	}))
	_, err := vu.RunOnEventLoop(`start()`)
	require.NoError(t, err)
	require.Len(t, got, 100)
	assert.IsIncreasing(t, got)
}
