package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/metrics"
)

// script is a VU whose script can check with equal(want, got) and done(), which must be called.
func script(t *testing.T, target, options string) func(code string) []metrics.Sample {
	t.Helper()
	run, _ := scriptAndVU(t, target, options)
	return run
}

func scriptAndVU(t *testing.T, target, options string) (func(code string) []metrics.Sample, *testVU) {
	t.Helper()
	vu := newTestVU(t)
	_, err := vu.VU.Runtime().RunString(fmt.Sprintf("const client = new mcp.Client(%s, %s)", target, options))
	require.NoError(t, err)
	require.NoError(t, vu.VU.Runtime().Set("equal", func(want, got any) {
		assert.EqualValues(t, want, got)
	}))
	return func(code string) []metrics.Sample {
		done := false
		require.NoError(t, vu.VU.Runtime().Set("done", func() { done = true }))
		vu.run(t, "(async () => {"+code+"; done() })()")
		require.True(t, done, "the script has not come to its end")
		return vu.drain()
	}, vu
}

// await drains samples until there are as many of a metric as wanted: some are pushed when the script has gone on.
func await(t *testing.T, vu *testVU, samples []metrics.Sample, name string, want int) []metrics.Sample {
	t.Helper()
	require.Eventually(t, func() bool {
		samples = append(samples, vu.drain()...)
		n := 0
		for _, s := range samples {
			if s.Metric.Name == name {
				n++
			}
		}
		return n == want
	}, 5*time.Second, 5*time.Millisecond, name)
	return samples
}

func quote(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// targets are the same server behind each transport and revision.
func targets(t *testing.T) map[string][2]string {
	t.Helper()
	stdio := quote(t, map[string]any{"command": []string{os.Args[0]}, "env": map[string]string{stdioEnv: "1"}})
	return map[string][2]string{
		"2025-11-25": {quote(t, everythingURL(t, &sdk.StreamableHTTPOptions{})), `{}`},
		"JSON":       {quote(t, everythingURL(t, &sdk.StreamableHTTPOptions{JSONResponse: true})), `{}`},
		"2025-03-26": {quote(t, everythingURL(t, &sdk.StreamableHTTPOptions{})), `{protocolVersion: "2025-03-26"}`},
		"2026-07-28": {quote(t, everythingURL(t, &sdk.StreamableHTTPOptions{Stateless: true})), `{protocolVersion: "2026-07-28"}`},
		"auto":       {quote(t, everythingURL(t, &sdk.StreamableHTTPOptions{Stateless: true})), `{protocolVersion: "auto"}`},
		"SSE":        {fmt.Sprintf(`{url: %q, transport: "sse"}`, sseURL(t)), `{protocolVersion: "2024-11-05"}`},
		"stdio":      {stdio, `{}`},
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	for name, target := range targets(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := script(t, target[0], target[1])
			run(fmt.Sprintf(`
				const s = client.session();
				equal('everything', s.serverInfo.name);
				equal(s.protocolVersion >= '2026', s.stateless);
				equal('hi', s.callTool('echo', {text: 'hi'}).structuredContent.text);
				equal('hi', (await s.callToolAsync('echo', {text: 'hi'})).json().text);

				let page = s.listTools();
				equal(2, page.items.length); equal(1, page.pages); equal('string', typeof page.nextCursor);
				page = s.listTools({cursor: page.nextCursor});
				equal(2, page.items.length);
				page = s.listTools({all: true});
				equal('calculate_fibonacci,change,echo,hang,sample,steps', page.items.map((x) => x.name).join());
				equal(3, page.pages); equal(undefined, page.nextCursor); equal(true, page.ok);
				page = await s.listToolsAsync({all: true, maxPages: 2});
				equal(4, page.items.length); equal(2, page.pages); equal('string', typeof page.nextCursor);

				equal('a,b,c', s.listResources({all: true}).items.map((x) => x.name).join());
				equal('any:///{x}', s.listResourceTemplates().items[0].uriTemplate);
				equal('I am test:///b', s.readResource('test:///b').result.contents[0].text);
				equal(false, s.readResource('test:///none').ok);
				equal('greet', s.listPrompts().items[0].name);
				equal('Hello k6', s.getPrompt('greet', {who: 'k6'}).result.messages[0].content.text);
				equal('ref/prompt,k!', s.complete({prompt: 'greet'}, {name: 'who', value: 'k'}).result.completion.values.join());
				equal('ref/resource', s.complete({resource: 'any:///{x}'}, {name: 'x', value: 'k'}).result.completion.values[0]);

				const replies = s.parallel([
					{tool: 'echo', args: {text: 'one'}}, {resource: 'test:///a'}, {prompt: 'greet', args: {who: 'you'}},
					{method: 'tools/list'}, {tool: 'none'}, {tool: 'echo', args: {text: 'two'}, params: {tags: {name: 'second'}}},
				], {concurrency: 3});
				equal('true,true,true,true,false,true', replies.map((r) => r.ok).join());
				equal('one', replies[0].structuredContent.text);
				equal('I am test:///a', replies[1].result.contents[0].text);
				equal('rpc', replies[4].error.kind); equal(mcp.codes.invalidParams, replies[4].error.code);
				equal('two', (await s.parallelAsync([{tool: 'echo', args: {text: 'two'}}]))[0].json().text);

				if (%t) { // there is a stream for progress
				const seen = [];
				const r = await s.callToolAsync('steps', {}, {onProgress: (p) => seen.push(p.progress + '/' + p.total + ' ' + p.message)});
				equal('done', r.structuredContent.text);
				equal('1/3 step 1,2/3 step 2,3/3 step 3', seen.join());
				const later = [];
				s.callTool('steps', {}, {onProgress: (p) => later.push(p.progress)});
				equal('1,2,3', later.join());
				}

				const cancelled = s.callTool('hang', {}, {cancelAfter: '20ms'});
				equal('cancelled', cancelled.error.kind); equal(false, cancelled.ok);
				equal(true, s.callTool('echo', {text: 'still there'}).ok);
				let thrown; try { s.callTool('none', {}, {throw: true}) } catch (e) { thrown = e }
				equal('rpc', thrown.kind);
				thrown = undefined; try { await s.callToolAsync('none', {}, {throw: true}) } catch (e) { thrown = e }
				equal('rpc', thrown.kind); equal('McpError', thrown.name);
				const dropped = s.callTool('echo', {text: 'x'}, {discardResult: true});
				equal(true, dropped.ok); equal(undefined, dropped.result); equal(true, dropped.bytes > 10);
				if (!s.stateless) {
					equal(true, s.ping().ok);
					equal(true, s.setLogLevel('warning').ok);
					equal(true, s.subscribe('test:///a').ok);
					equal(true, s.unsubscribe('test:///a').ok);
					equal(true, s.notify('notifications/roots/list_changed').ok);
				}
				await s.closeAsync();
				equal(false, s.alive);
			`, name != "JSON"))
		})
	}
}

func TestServerRequests(t *testing.T) {
	t.Parallel()
	for name, target := range targets(t) {
		if name == "JSON" || name == "2026-07-28" || name == "auto" {
			continue // the server has no way to ask: nothing is streamed, or the revision has no such requests
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := fmt.Sprintf(`{replies: {"sampling/createMessage": {result: {role: "assistant", model: "mine",
				content: {type: "text", text: "x"}}, delay: "30ms"}}, ...%s}`, target[1])
			run, vu := scriptAndVU(t, target[0], options)
			samples := await(t, vu, run(`
				const r = client.session().callTool('sample');
				equal(undefined, r.error?.message);
				equal('mine', r.structuredContent.text)`), "mcp_server_req_duration", 1)
			duration := one(t, samples, "mcp_server_req_duration")
			assert.GreaterOrEqual(t, duration.Value, 30.0)
			method, _ := duration.Tags.Get("method")
			assert.Equal(t, "sampling/createMessage", method)
			assert.InDelta(t, 1, one(t, samples, "mcp_server_reqs").Value, 0)
		})
	}
}

// From 2026-07-28 on a server asks in its reply, and the call is made again with the answers.
func TestServerRequestsInReplies(t *testing.T) {
	t.Parallel()
	url := fixture(t, &sdk.StreamableHTTPOptions{Stateless: true})
	run, vu := scriptAndVU(t, quote(t, url),
		`{protocolVersion: "2026-07-28", metrics: "basic", replies: {"roots/list": {result: {roots: [{uri: "file:///mine"}]}}}}`)
	run(`client.session()`)
	samples := await(t, vu, run(`
		const r = client.session().callTool('confirm');
		equal(true, r.ok); equal('asked file:///mine', r.text())`), "mcp_server_reqs", 1)
	var reqs float64
	for _, s := range samples {
		if s.Metric.Name == "mcp_reqs" {
			reqs += s.Value
		}
	}
	assert.InDelta(t, 2, reqs, 0, "both requests are counted")
	assert.Positive(t, one(t, samples, "mcp_req_duration").Value, "the time is that of the last one")
}

func TestListener(t *testing.T) {
	t.Parallel()
	for name, target := range targets(t) {
		if name == "JSON" || name == "auto" {
			continue // as the others
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, vu := scriptAndVU(t, target[0], target[1])
			samples := run(`
				const s = client.session();
				const l = s.listen(s.stateless ? {notifications: {resourceSubscriptions: ['test:///a']}} : {});
				equal(true, l.open);
				if (!s.stateless) s.subscribe('test:///a');
				const updated = l.next({method: 'notifications/resources/updated', timeout: '10s'});
				s.callTool('change');
				const n = await updated;
				equal('test:///a', n.params.uri); equal('listen', n.stream); equal(true, n.at > 1e12);

				let late; try { await l.next({method: 'never', timeout: '20ms'}) } catch (e) { late = e }
				equal('timeout', late.kind);

				s.callTool('change');
				let drained = [];
				while (drained.length === 0) drained = l.drain();
				equal('notifications/resources/updated', drained.at(-1).method);

				const closed = new Promise((resolve) => l.onClose(resolve));
				const seen = new Promise((resolve) => l.onNotification(resolve));
				s.callTool('change');
				equal('test:///a', (await seen).params.uri);
				equal(true, l.received >= 3); equal(0, l.dropped);
				l.close();
				equal('closed', (await closed).kind);
				equal(false, l.open);
				let gone; try { await l.next() } catch (e) { gone = e }
				equal('reset', gone.kind);
			`)
			samples = await(t, vu, samples, "mcp_stream_duration", 1)
			found := map[string]float64{}
			for _, s := range samples {
				found[s.Metric.Name] = s.Value
			}
			assert.Contains(t, found, "mcp_stream_duration")
			assert.Contains(t, found, "mcp_notifications")
			assert.Zero(t, found["mcp_streams_open"], "the last sample")
		})
	}
}

func TestListenerCountsWhatItDrops(t *testing.T) {
	t.Parallel()
	run, vu := scriptAndVU(t, quote(t, everythingURL(t, &sdk.StreamableHTTPOptions{})), `{}`)
	samples := run(`
		const s = client.session();
		const l = s.listen({queue: 1});
		s.subscribe('test:///a');
		for (let i = 0; i < 5; i++) s.callTool('change');
		while (l.received < 5) s.ping();
		equal(4, l.dropped); equal(1, l.drain().length); equal(0, l.drain().length);
		l.close();`)
	samples = await(t, vu, samples, "mcp_notifications_dropped", 1)
	assert.InDelta(t, 4, one(t, samples, "mcp_notifications_dropped").Value, 0)
}

func TestPool(t *testing.T) {
	t.Parallel()
	samples := script(t, quote(t, everythingURL(t, &sdk.StreamableHTTPOptions{})), `{}`)(`
		const pool = await client.pool(20, {concurrency: 5, rate: 1000});
		equal(20, pool.size); equal(20, pool.alive); equal(0, pool.failed); equal(0, pool.streams);
		equal(20, await pool.listenAll()); equal(20, pool.streams);
		const ids = new Set(); pool.each((s, i) => { ids.add(s.id); equal(true, s === pool.at(i)) });
		equal(20, ids.size); equal(undefined, pool.at(20));
		pool.each((s) => s.subscribe('test:///a'));
		pool.at(7).callTool('change');
		while (pool.received < 20) pool.at(0).ping();
		await pool.close();
		equal(0, pool.alive); equal(0, pool.streams);
		const streaming = await client.pool(3, {listen: true});
		equal(3, streaming.streams);
		await streaming.close();`)
	var sessions, open, streams float64
	for _, s := range samples {
		switch s.Metric.Name {
		case "mcp_sessions":
			sessions += s.Value
		case "mcp_sessions_open":
			open = s.Value
		case "mcp_streams_open":
			streams = s.Value
		case "mcp_notifications_dropped":
			t.Error("nothing is dropped where nothing is wanted")
		}
	}
	assert.InDelta(t, 23, sessions, 0)
	assert.Zero(t, open)
	assert.Zero(t, streams)
}

func TestPoolThatCannotBe(t *testing.T) {
	t.Parallel()
	script(t, `"http://127.0.0.1:9/mcp"`, `{}`)(`
		let e; try { await client.pool(3) } catch (x) { e = x }
		equal('connect', e.kind)`)
}

func TestBatch(t *testing.T) {
	t.Parallel()
	target := quote(t, everythingURL(t, &sdk.StreamableHTTPOptions{}))
	script(t, target, `{protocolVersion: "2025-03-26"}`)(`
		const s = client.session();
		const [a, b, c] = s.batch([{tool: 'echo', args: {text: 'x'}}, {tool: 'none'}, {method: 'ping'}]);
		equal('x', a.structuredContent.text); equal('rpc', b.error.kind); equal(true, c.ok);
		let e; try { s.batch([{tool: 'echo', params: {}}]) } catch (x) { e = x }
		equal(true, /ops\[0\].*go with the batch/.test(e.message))`)
	script(t, target, `{}`)(`
		let e; try { client.session().batch([{method: 'ping'}]) } catch (x) { e = x }
		equal(true, /2025-03-26/.test(e.message))`)
}

func TestRaw(t *testing.T) {
	t.Parallel()
	script(t, quote(t, everythingURL(t, &sdk.StreamableHTTPOptions{})), `{}`)(`
		const s = client.session();
		let r = s.sendRaw('{"jsonrpc":');
		equal(false, r.ok); equal(400, r.status); equal(true, r.body.length > 0);
		r = s.sendRaw('{"jsonrpc":"2.0","id":"mine","method":"ping"}');
		equal(200, r.status); equal(true, /"mine"/.test(r.body));
		r = s.sendRaw(new Uint8Array([0x7b, 0x7d]).buffer);
		equal(false, r.ok);
		r = s.sendRaw('{"jsonrpc":"2.0","id":1,"method":"ping"}', {headers: {'Mcp-Session-Id': null}});
		equal(true, r.status >= 200);
		let e; try { s.sendRaw(1) } catch (x) { e = x } equal(true, /string or an ArrayBuffer/.test(e.message));
		equal(true, s.ping().ok);`)
}

// setup() cannot hand a session to the VUs, but its id.
func TestAttach(t *testing.T) {
	t.Parallel()
	url := quote(t, everythingURL(t, &sdk.StreamableHTTPOptions{}))
	run, vu := scriptAndVU(t, url, `{}`)
	samples := run(`
		const first = client.connect();
		const state = JSON.parse(JSON.stringify({id: first.id, protocolVersion: first.protocolVersion}));
		const second = client.attach(state);
		equal(first.id, second.id); equal('hi', second.callTool('echo', {text: 'hi'}).json().text);
		first.close();
		equal('session_lost', second.ping().error.kind); equal(false, second.alive);`)
	assert.InDelta(t, 1, one(t, samples, "mcp_sessions").Value, 0)

	run(`
		globalThis.mine = client.connect();
		globalThis.stream = client.attach({id: mine.id, protocolVersion: mine.protocolVersion}).listen();
		equal(true, stream.open)`)
	vu.root.run.end()
	v, err := vu.try(`stream.open`)
	require.NoError(t, err)
	assert.False(t, v.ToBoolean(), "the run ends the streams of sessions that are not its own")
}

// An object that was encoded once can be sent many times, wherever an object can.
func TestEncode(t *testing.T) {
	t.Parallel()
	run, vu := scriptAndVU(t, quote(t, everythingURL(t, &sdk.StreamableHTTPOptions{})), "{}")
	_, err := vu.VU.Runtime().RunString(`const given = {text: "a\u2028é"}, args = mcp.encode(given); given.text = "changed"`)
	require.NoError(t, err, "there is no need of a server for it")
	run(`
		const s = client.session(), text = "a\u2028é";
		for (let i = 0; i < 3; i++) equal(text, s.callTool("echo", args).structuredContent.text);
		equal(text, s.parallel([{tool: "echo", args}])[0].structuredContent.text);
		equal(text, s.request("tools/call", mcp.encode({name: "echo", arguments: {text}})).result.structuredContent.text);
		equal('{"args":{"text":"' + text + '"}}', JSON.stringify({args}));
		let e; try { mcp.encode("text") } catch (x) { e = x }
		equal("encode(value): want an object, got text", e.message);
		try { s.callTool("echo", new Date()) } catch (x) { e = x }
		equal(true, e.message.includes("args: want an object"));`)
}

func TestArgumentsOfOperations(t *testing.T) {
	t.Parallel()
	vu := newTestVU(t)
	vu.client(t, everythingURL(t, &sdk.StreamableHTTPOptions{}), "{}")
	for call, want := range map[string]string{
		`client.pool(0)`:                                           "count: want a whole number of sessions",
		`client.pool(1, {rate: 0})`:                                `param "rate": want a number`,
		`client.attach({id: "x"})`:                                 "want the id and the protocolVersion",
		`client.attach({ID: "x"})`:                                 `unknown key "ID"`,
		`client.connect({throw: false})`:                           `unknown param "throw"`,
		`client.session().complete({}, {})`:                        "ref: want {prompt: name}",
		`client.session().complete({prompt: "x"})`:                 "argument: want an object",
		`client.session().parallel({})`:                            "ops: want an array",
		`client.session().parallel([])`:                            "at least one",
		`client.session().parallel([{}])`:                          `ops[0]: want an object with "tool"`,
		`client.session().parallel([{tool: "x", body: {}}])`:       `"body" does not go with "tool"`,
		`client.session().parallel([{tool: "x", a: 1}])`:           `ops[0]: unknown key "a"`,
		`client.session().parallel([{tool: "x", params: {a: 1}}])`: `ops[0]: unknown param "a"`,
		`client.session().ping({cancelAfter: -1})`:                 `param "cancelAfter"`,
		`client.session().ping({meta: 1})`:                         `param "meta": want an object`,
		`client.session().ping({throw: 1})`:                        `param "throw": want true or false`,
		`client.session().ping({onProgress() {}})`:                 `unknown param "onProgress"`,
		`client.session().callTool("x", {}, {onProgress: 1})`:      "want a function",
		`client.session().listTools({all: 1})`:                     `param "all": want true or false`,
		`client.session().listen({queue: 0})`:                      `param "queue": want a whole number`,
		`client.session().readResource()`:                          "uri: want a string",
	} {
		_, err := vu.try(call)
		require.ErrorContains(t, err, want, call)
	}
}
