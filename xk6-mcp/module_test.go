package mcp

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grafana/sobek"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
	"gopkg.in/guregu/null.v3"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/histlog"
	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/mcptest"
)

// testVU is a VU with the module, first in the init context.
type testVU struct {
	*modulestest.Runtime
	root    *RootModule
	samples chan metrics.SampleContainer
	state   *lib.State
}

func newTestVU(t *testing.T) *testVU {
	t.Helper()
	vu := &testVU{Runtime: modulestest.NewRuntime(t), root: New(), samples: make(chan metrics.SampleContainer, 1000)}
	registry := vu.VU.InitEnvField.Registry
	transport := &http.Transport{DisableCompression: true}
	vu.state = &lib.State{
		Options:        lib.Options{SystemTags: &metrics.DefaultSystemTagSet},
		BuiltinMetrics: vu.BuiltinMetrics,
		Logger:         vu.VU.InitEnvField.Logger,
		Transport:      transport,
		Samples:        vu.samples,
		Tags:           lib.NewVUStateTags(registry.RootTagSet()),
	}
	instance := vu.root.NewModuleInstance(vu.VU)
	require.NoError(t, vu.VU.Runtime().Set("mcp", instance.Exports().Named))
	t.Cleanup(vu.root.run.end)
	return vu
}

// run runs code in the VU context, in an iteration of its own.
func (vu *testVU) run(t *testing.T, code string) sobek.Value {
	t.Helper()
	v, err := vu.try(code)
	require.NoError(t, err)
	return v
}

func (vu *testVU) try(code string) (sobek.Value, error) {
	if vu.VU.StateField == nil {
		vu.MoveToVUContext(vu.state)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // as k6 does at the end of every iteration
	vu.VU.CtxField = ctx
	return vu.RunOnEventLoop(code)
}

// drain returns the samples that have been pushed.
func (vu *testVU) drain() (samples []metrics.Sample) {
	for _, c := range metrics.GetBufferedSamples(vu.samples) {
		samples = append(samples, c.GetSamples()...)
	}
	return samples
}

func names(samples []metrics.Sample) (names []string) {
	for _, s := range samples {
		names = append(names, s.Metric.Name)
	}
	slices.Sort(names)
	return names
}

// one returns the only sample of a metric.
func one(t *testing.T, samples []metrics.Sample, name string) metrics.Sample {
	t.Helper()
	var found []metrics.Sample
	for _, s := range samples {
		if s.Metric.Name == name {
			found = append(found, s)
		}
	}
	require.Len(t, found, 1, name)
	return found[0]
}

func fixture(t *testing.T, opts *sdk.StreamableHTTPOptions) string {
	t.Helper()
	server := httptest.NewServer(mcptest.Handler(opts))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

func (vu *testVU) client(t *testing.T, url string, options string) {
	t.Helper()
	_, err := vu.VU.Runtime().RunString(fmt.Sprintf("const client = new mcp.Client(%q, %s)", url, options))
	require.NoError(t, err)
}

func TestInitContext(t *testing.T) {
	t.Parallel()
	vu := newTestVU(t)
	vu.client(t, "http://127.0.0.1:1/mcp", "{}")
	for _, call := range []string{"client.connect()", "client.session()"} {
		_, err := vu.VU.Runtime().RunString(call)
		require.ErrorContains(t, err, "in the init context is not supported: make the Client there")
	}
}

func TestClientArguments(t *testing.T) {
	t.Parallel()
	rt := newTestVU(t).VU.Runtime()
	for arguments, want := range map[string]string{
		``:                                    "want the URL of an MCP endpoint",
		`1`:                                   "want a string, got 1",
		`"localhost/mcp"`:                     "want http://host/path",
		`"http://u:p@h/"`:                     "Authorization header",
		`{url: "http://h/", uri: 1}`:          `unknown target key "uri"`,
		`{}`:                                  "want http://host/path",
		`"http://h/", 1`:                      "options: want an object, got 1",
		`"http://h/", {timeOut: 1}`:           `unknown option "timeOut"`,
		`"http://h/", {timeout: 0}`:           `option "timeout": want more than 0, got 0`,
		`"http://h/", {timeout: "soon"}`:      `option "timeout"`,
		`"http://h/", {maxMessageSize: 1.5}`:  `option "maxMessageSize": want a whole number`,
		`"http://h/", {protocolVersion: "1"}`: `protocol version "1": want one of`,
		`"http://h/", {protocolVersion: 1}`:   `option "protocolVersion": want a string`,
		`"http://h/", {headers: "a: b"}`:      `option "headers": want an object`,
		`"http://h/", {headers: {a: "b\nc"}}`: `header "a" has a line break`,
		`"http://h/", {metrics: "all"}`:       `option "metrics": "all": want "off", "basic" or "phases"`,
	} {
		_, err := rt.RunString("new mcp.Client(" + arguments + ")")
		require.ErrorContains(t, err, want, arguments)
	}
	for _, arguments := range []string{
		`"http://h/"`, `{url: "http://h/"}`, `"http://h/", null`,
		`"http://h/", {protocolVersion: "auto", timeout: "1m30s", maxMessageSize: 1, headers: {a: 1}, tags: {a: 1}, metrics: "off"}`,
	} {
		_, err := rt.RunString("new mcp.Client(" + arguments + ")")
		require.NoError(t, err, arguments)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]*sdk.StreamableHTTPOptions{
		"JSON": {JSONResponse: true}, "event stream": {}, "stateless": {Stateless: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vu := newTestVU(t)
			vu.client(t, fixture(t, opts), "{}")
			require.NoError(t, vu.VU.Runtime().Set("equal", func(want, got any) {
				assert.EqualValues(t, want, got)
			}))
			vu.run(t, fmt.Sprintf(`
				const s = client.session();
				equal(%t, s.id === '');
				equal('2025-11-25', s.protocolVersion);
				equal('mcptest', s.serverInfo.name);
				equal('for tests', s.instructions);
				equal('object', typeof s.serverCapabilities.tools);
				equal(true, s.alive);

				let r = s.callTool('echo', {text: 'h\u00e9 \u{1F600}'});
				equal(true, r.ok); equal(undefined, r.error); equal(200, r.status); equal(false, r.isError);
				equal('h\u00e9 \u{1F600}', r.structuredContent.text);
				equal('h\u00e9 \u{1F600}', r.json().text);
				equal('{"text":"h\u00e9 \u{1F600}"}', r.text());
				equal('text', r.content[0].type);
				equal(true, r.result === r.result);
				equal(true, JSON.parse(r.raw()).structuredContent.text === r.structuredContent.text);
				equal(%t, r.streamed);
				equal(true, r.bytes > 50); equal(0, r.events);
				equal(true, /json|event-stream/.test(r.headers['Content-Type']));
				const t = r.timings;
				equal(true, t.duration > 0 && t.blocked >= 0 && t.connecting === 0);
				equal(true, Math.abs(t.sending + t.waiting + t.receiving - t.duration) < 1e-6);
				equal(%t, t.firstEvent > 0);
				equal('ok,error,status,headers,timings,streamed,bytes,events,result,isError,content,structuredContent', Object.keys(r).join());
				equal(true, JSON.parse(JSON.stringify(r)).ok);
				equal(true, 'raw' in r); equal(false, 'items' in r); equal(undefined, r.nothing);
				r.ok = false; equal(true, r.ok);

				r = s.callTool('fail');
				equal(false, r.ok); equal(true, r.isError); equal('tool', r.error.kind); equal(200, r.error.status);
				equal('it failed on purpose', r.error.message); equal(true, r.error instanceof Error);
				equal('it failed on purpose', r.text()); equal(undefined, r.structuredContent);
				let thrown; try { r.json() } catch (e) { thrown = e } equal('SyntaxError', thrown.name);

				r = s.callTool('nothing', {});
				equal(false, r.ok); equal('rpc', r.error.kind); equal(-32602, r.error.code); equal('McpError', r.error.name);
				equal(undefined, r.result); equal('', r.raw()); equal('', r.text()); equal(false, r.isError);

				r = s.listTools();
				equal(true, r.ok);
				equal('echo,fail', r.items.map((t) => t.name).filter((n) => n === 'echo' || n === 'fail').sort().join());
				equal(undefined, r.nextCursor);
				r = s.listTools({cursor: 'never given'});
				equal('rpc', r.error.kind); equal(0, r.items.length);

				equal(true, s.ping().ok);
				r = s.request('tools/call', {name: 'echo', arguments: {text: 'x'}});
				equal('x', r.result.structuredContent.text);
				equal(400, s.request('no/such/method').error.status); // this SDK refuses it in plain text

				s.close(); s.close();
				equal(false, s.alive);
			`, opts.Stateless, !opts.JSONResponse, !opts.JSONResponse))
			_, err := vu.try(`s.ping()`)
			require.ErrorContains(t, err, "this session is closed")
		})
	}
}

func TestCallArguments(t *testing.T) {
	t.Parallel()
	vu := newTestVU(t)
	vu.client(t, fixture(t, &sdk.StreamableHTTPOptions{}), "{}")
	for call, want := range map[string]string{
		`callTool()`:                                              "name: want a string, got undefined",
		`callTool("echo", "x")`:                                   "args: want an object, got x",
		`callTool("echo", [1])`:                                   "args: want an object",
		`callTool("echo", {}, {timeOut: 1})`:                      `unknown param "timeOut"`,
		`callTool("echo", {}, {cursor: "x"})`:                     `unknown param "cursor"`,
		`callTool("echo", {}, {timeout: -1})`:                     `param "timeout": want more than 0`,
		`callTool("echo", {}, {headers: 1})`:                      `param "headers": want an object`,
		`callTool("echo", {}, {tags: {a: []}})`:                   `invalid value for metric tag 'a'`,
		`callTool("echo", {get a() { throw new Error("mine") }})`: "mine",
		`request(1)`:             "method: want a string",
		`request("ping", 1)`:     "body: want an object",
		`ping({a: 1})`:           `unknown param "a"`,
		`listTools({cursor: 1})`: `param "cursor": want a string`,
		`close({a: 1})`:          `unknown param "a"`,
	} {
		_, err := vu.try("client.session()." + call)
		require.ErrorContains(t, err, want, call)
	}
	_, err := vu.try(`client.connect({a: 1})`)
	require.ErrorContains(t, err, `unknown param "a"`)
}

func TestMetricsOfACall(t *testing.T) {
	t.Parallel()
	basic := []string{"mcp_req_duration", "mcp_req_failed", "mcp_reqs", "mcp_tool_failed"}
	phases := slices.Concat(basic, []string{
		"mcp_req_blocked", "mcp_req_connecting", "mcp_req_receiving", "mcp_req_received_bytes", "mcp_req_sending",
		"mcp_req_sent_bytes", "mcp_req_tls_handshaking", "mcp_req_waiting",
	})
	slices.Sort(phases)
	url := fixture(t, &sdk.StreamableHTTPOptions{JSONResponse: true})
	for mode, want := range map[string][]string{"off": nil, "basic": basic, "phases": phases} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			vu := newTestVU(t)
			vu.client(t, url, fmt.Sprintf(`{metrics: %q, tags: {from: "client", both: "client"}}`, mode))
			vu.run(t, `client.session()`)
			handshake := vu.drain()
			if mode == "off" {
				assert.Empty(t, handshake)
			} else {
				assert.Equal(t, []string{
					"mcp_req_failed", "mcp_req_failed", "mcp_reqs", "mcp_reqs",
					"mcp_session_connecting", "mcp_sessions", "mcp_sessions_open",
				}, names(handshake))
				assert.Positive(t, one(t, handshake, "mcp_session_connecting").Value)
			}

			vu.run(t, `client.session().callTool("echo", {text: "x"}, {tags: {both: "call", phase: "measure"}})`)
			samples := vu.drain()
			assert.Equal(t, want, names(samples))
			if mode == "off" {
				return
			}
			duration := one(t, samples, "mcp_req_duration")
			assert.Positive(t, duration.Value)
			assert.Equal(t, map[string]string{
				"method": "tools/call", "name": "echo", "tool": "echo", "url": url, "proto": "MCP/2025-11-25",
				"subproto": "streamable-http", "status": "200", "expected_response": "true",
				"from": "client", "both": "call", "phase": "measure",
			}, duration.Tags.Map())
			assert.Zero(t, one(t, samples, "mcp_req_failed").Value)
			assert.Zero(t, one(t, samples, "mcp_tool_failed").Value)
			assert.InDelta(t, 1, one(t, samples, "mcp_reqs").Value, 0)
		})
	}
}

func TestMetricsOfFailures(t *testing.T) {
	t.Parallel()
	vu := newTestVU(t)
	vu.client(t, fixture(t, &sdk.StreamableHTTPOptions{JSONResponse: true}), `{metrics: "basic"}`)
	vu.run(t, `client.session()`)
	for call, want := range map[string]struct {
		reqFailed, toolFailed float64
		kind                  string
	}{
		`callTool("fail")`:    {0, 1, "tool"},
		`callTool("nothing")`: {1, 1, "rpc"},
		`callTool("slow", {ms: 5000}, {timeout: "20ms"})`: {1, 1, "timeout"},
	} {
		vu.drain()
		vu.run(t, "client.session()."+call)
		samples := vu.drain()
		failed := one(t, samples, "mcp_req_failed")
		assert.InDelta(t, want.reqFailed, failed.Value, 0, call)
		assert.InDelta(t, want.toolFailed, one(t, samples, "mcp_tool_failed").Value, 0, call)
		tags := failed.Tags.Map()
		assert.Equal(t, want.kind, tags["error_kind"])
		assert.Equal(t, "false", tags["expected_response"])
		if want.kind == "rpc" {
			assert.Equal(t, "-32602", tags["error_code"])
		}
	}
}

func TestNameTagOfTheScriptWins(t *testing.T) {
	t.Parallel()
	vu := newTestVU(t)
	vu.client(t, fixture(t, &sdk.StreamableHTTPOptions{}), `{metrics: "basic"}`)
	vu.run(t, `client.session().ping({tags: {name: "mine"}})`)
	name, _ := one(t, vu.drain(), "mcp_req_duration").Tags.Get("name")
	assert.Equal(t, "mine", name)
}

// k6 cancels vu.Context() after every iteration; a session must outlive that, on one connection.
func TestSessionIsKeptAcrossIterations(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(mcptest.Handler(&sdk.StreamableHTTPOptions{}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	vu := newTestVU(t)
	vu.client(t, server.URL, `{}`)
	id := vu.run(t, `client.session().id`).String()
	for range 5 {
		vu.state.Iteration++
		assert.Equal(t, id, vu.run(t, `client.session().id`).String())
		assert.True(t, vu.run(t, `client.session().callTool("echo", {text: "x"}).ok`).ToBoolean())
	}
	assert.EqualValues(t, 1, connections.Load())
	assert.NotEqual(t, id, vu.run(t, `client.connect().id`).String(), "connect() makes a session each time")

	vu.state.Options.NoVUConnectionReuse = null.BoolFrom(true)
	vu.state.Iteration++
	before := connections.Load()
	vu.run(t, `client.session().ping()`)
	assert.Equal(t, before+1, connections.Load(), "noVUConnectionReuse")
}

func TestLostSessionIsCountedAndRemade(t *testing.T) {
	t.Parallel()
	url := fixture(t, &sdk.StreamableHTTPOptions{JSONResponse: true})
	vu := newTestVU(t)
	vu.client(t, url, `{metrics: "basic"}`)
	id := vu.run(t, `client.session().id`).String()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	require.NoError(t, err)
	req.Header.Set("Mcp-Session-Id", id)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	vu.drain()

	vu.run(t, `
		let s = client.session();
		if (s.ping().error.kind !== 'session_lost') throw new Error('not lost');
		if (s.ping().error.kind !== 'session_lost') throw new Error('the server is asked again');
		if (s.alive) throw new Error('alive');`)
	samples := vu.drain()
	assert.InDelta(t, 1, one(t, samples, "mcp_sessions_lost").Value, 0)
	assert.InDelta(t, 0, one(t, samples, "mcp_sessions_open").Value, 0)

	_, err = vu.try(`s.close(); s.ping()`)
	require.ErrorContains(t, err, "this session is closed")

	assert.NotEqual(t, id, vu.run(t, `client.session().id`).String())
	assert.True(t, vu.run(t, `client.session().ping().ok`).ToBoolean())
}

func TestConnectThrows(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "starting")
	}))
	t.Cleanup(server.Close)
	vu := newTestVU(t)
	vu.client(t, server.URL, `{}`)
	got := vu.run(t, `
		let e; try { client.session() } catch (x) { e = x }
		[e.name, e.kind, e.status, e.message, e instanceof Error].join('|')`).String()
	assert.Equal(t, "McpError|unavailable|503|HTTP 503 Service Unavailable: starting|true", got)
	assert.InDelta(t, 1, one(t, vu.drain(), "mcp_req_failed").Value, 0)
}

func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	var last http.Header
	h := mcptest.Handler(&sdk.StreamableHTTPOptions{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r.Header
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	vu := newTestVU(t)
	vu.state.Options.UserAgent = null.StringFrom("agent/1")
	vu.client(t, server.URL, `{headers: {'x-a': 'client', 'x-b': 'client'}}`)
	vu.run(t, `client.session().ping({headers: {'x-b': 'call'}})`)
	assert.Equal(t, "client", last.Get("X-A"))
	assert.Equal(t, "call", last.Get("X-B"))
	assert.Equal(t, "agent/1", last.Get("User-Agent"))
}

func TestEndOfRun(t *testing.T) {
	t.Parallel()
	var deleted atomic.Int64
	h := mcptest.Handler(&sdk.StreamableHTTPOptions{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			deleted.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	vu := newTestVU(t)
	dir := t.TempDir()
	vu.client(t, server.URL, fmt.Sprintf(`{histograms: %q}`, dir))
	_, err := vu.VU.Runtime().RunString(fmt.Sprintf(`new mcp.Client("http://h/", {histograms: %q})`, t.TempDir()))
	require.ErrorContains(t, err, `option "histograms": the histograms go to`)
	vu.run(t, `client.connect(); client.connect(); client.connect().close(); client.session().callTool("echo", {text: "x"}).reject("why")`)
	assert.EqualValues(t, 1, deleted.Load())
	assert.InDelta(t, 1, one(t, vu.drain(), "mcp_wrong_answers").Value, 0)

	vu.root.run.end()
	assert.EqualValues(t, 4, deleted.Load(), "every session is ended, once")
	ended := vu.drain()
	assert.Equal(t, []string{
		"mcp_req_failed", "mcp_req_failed", "mcp_req_failed", "mcp_reqs", "mcp_reqs", "mcp_reqs", // DELETE
		"mcp_session_duration", "mcp_session_duration", "mcp_session_duration",
		"mcp_sessions_open", "mcp_sessions_open", "mcp_sessions_open",
	}, names(ended))
	assert.FileExists(t, dir+"/"+histlog.SummaryFile)

	vu.run(t, `client.session()`)
	assert.Empty(t, vu.drain(), "k6 has closed the channel by now: a sample would panic")
}

func TestInterruptedCallIsNoFailure(t *testing.T) {
	t.Parallel()
	vu := newTestVU(t)
	vu.client(t, fixture(t, &sdk.StreamableHTTPOptions{}), `{}`)
	vu.run(t, `client.session()`)
	vu.drain()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	vu.VU.CtxField = ctx
	v, err := vu.RunOnEventLoop(`client.session().callTool("slow", {ms: 5000}).error.kind`)
	require.NoError(t, err)
	assert.Equal(t, "interrupted", v.String())
	assert.Empty(t, vu.drain())
}
