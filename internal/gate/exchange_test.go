package gate_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/fauxserver"
	"github.com/mcp-parity/mcp-parity/internal/gate"
)

// raw starts a server that treats each connection as the function does.
func raw(t *testing.T, serve func(net.Conn)) gate.Target {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return gate.Target{Name: "raw", URL: "http://" + listener.Addr().String(), Profiles: both[:1]}
}

// A server may refuse a large body before it has read it, and break the connection; the refusal counts.
func TestRefusalOfALargeBodyIsReadAlthoughSendingFails(t *testing.T) {
	t.Parallel()
	target := raw(t, func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadString('\n') // and leave the rest
		_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		_ = conn.Close() // unread data makes this a reset
	})
	for range 5 {
		report := check(t, []gate.Target{target}, vectors(t), gate.Options{Only: named("size/4.1-mib", "size/4.1-mib-chunked")})
		if !report.OK() {
			t.Fatal(text(t, report))
		}
	}
}

func TestResetWithoutAnAnswerIsReported(t *testing.T) {
	t.Parallel()
	target := raw(t, func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadString('\n')
		_ = conn.Close()
	})
	report := check(t, []gate.Target{target}, vectors(t), gate.Options{Only: named("size/4.1-mib")})
	if d := report.Differences(); len(d) != 1 || d[0].Aspect != gate.AspectTransport {
		t.Error(text(t, report))
	}
}

func TestADeadServerIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, stateful := range []bool{false, true} {
		target := gate.Target{Name: "dead", URL: "http://127.0.0.1:1", Stateful: stateful, Profiles: both[:1]}
		report := check(t, []gate.Target{target}, vectors(t), gate.Options{})
		last := report.Results[len(report.Results)-1]
		if report.OK() || last.Vector != gate.GivenUp || len(report.Results) > 20 {
			t.Errorf("%d results, the last %+v", len(report.Results), last)
		}
	}
}

// Requests differ in nothing but what they must: the server sees them as a client of that revision writes them.
func TestRequestsOnTheWire(t *testing.T) {
	t.Parallel()
	var seen atomic.Value
	target := serve(t, "echo", false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s host=%s length=%d", r.Method, r.URL.Path, r.Host, r.ContentLength)
		for _, name := range []string{"Accept", "Content-Type", "Accept-Encoding", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "X-Key"} {
			if values, ok := r.Header[name]; ok {
				fmt.Fprintf(&b, " %s=%s", name, strings.Join(values, "|"))
			}
		}
		seen.Store(b.String() + " " + string(body))
		w.WriteHeader(http.StatusTeapot)
	}))
	target.Headers = map[string]string{"X-Key": "secret"}
	target.MCPPath = "/other"
	usual := " Accept=application/json, text/event-stream Content-Type=application/json Mcp-Protocol-Version="
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"mcp-parity","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}`
	for _, c := range []struct{ vector, profile, want string }{
		{
			`call: {tool: t, arguments: '{"n":10.0}'}`, both[0],
			"POST /other host=h length=92" + usual + "2025-11-25 X-Key=secret " + `{"jsonrpc":"2.0","id":1000001,"method":"tools/call","params":{"name":"t","arguments":{"n":10.0}}}`,
		},
		{
			`call: {tool: t}`, both[1],
			"POST /other host=h length=0" + usual + "2026-07-28 Mcp-Method=tools/call Mcp-Name=t X-Key=secret " +
				`{"jsonrpc":"2.0","id":1000001,"method":"tools/call","params":{` + meta + `,"name":"t"}}`,
		},
		{
			`call: {tool: ü}`, both[1],
			"POST /other host=h length=0" + usual + "2026-07-28 Mcp-Method=tools/call Mcp-Name==?base64?w7w=?= X-Key=secret " +
				`{"jsonrpc":"2.0","id":1000001,"method":"tools/call","params":{` + meta + `,"name":"ü"}}`,
		},
		{
			`rpc: {method: x, id: '"a"', params: '{}'}`, both[1],
			"POST /other host=h length=0" + usual + "2026-07-28 Mcp-Method=x X-Key=secret " + `{"jsonrpc":"2.0","id":"a","method":"x","params":{` + meta + `}}`,
		},
		{
			`rpc: {method: x, params: '{"_meta":{}}', headers: {Mcp-Method: null, Accept: null, Host: evil.example}}`, both[1],
			"POST /other host=evil.example length=0 Content-Type=application/json Mcp-Protocol-Version=2026-07-28 X-Key=secret " +
				`{"jsonrpc":"2.0","id":1000001,"method":"x","params":{"_meta":{}}}`,
		},
		{
			`rpc: {method: initialize, notification: true}`, both[0],
			"POST /other host=h length=0 Accept=application/json, text/event-stream Content-Type=application/json X-Key=secret " +
				`{"jsonrpc":"2.0","method":"initialize"}`,
		},
		{
			`http: {method: PUT, path: /p, body: 'x', chunked: true}`, both[0],
			"PUT /p host=h length=-1" + usual + "2025-11-25 X-Key=secret x",
		},
	} {
		v := parse(t, "group: g\nabout: a\nvectors:\n  - {name: v, why: w, profiles: ['"+c.profile+"'], "+c.vector+", expect: {http: true, status: [418]}}\n")
		report := check(t, []gate.Target{target}, v, gate.Options{Only: named("g/v")})
		if !report.OK() {
			t.Error(text(t, report))
		}
		got, _ := seen.Load().(string)
		got = strings.Replace(got, strings.TrimPrefix(target.URL, "http://"), "h", 1)
		head, body, _ := strings.Cut(c.want, "{")
		if length := len(c.want) - len(head); body != "" {
			before, after, _ := strings.Cut(c.want, "length=")
			_, after, _ = strings.Cut(after, " ")
			c.want = fmt.Sprintf("%slength=%d %s", before, length, after)
		}
		if got != c.want {
			t.Errorf("%s:\ngot    %s\nwanted %s", c.vector, got, c.want)
		}
	}
}

func TestBadInputIsRefused(t *testing.T) {
	t.Parallel()
	good := target(t, "faux", false, "", fauxserver.Fault{})
	ping := func(more string) []contract.Vector {
		return parse(t, "group: g\nabout: a\nvectors:\n  - {name: v, why: w, rpc: {method: ping"+more+"}, expect: {reply: '{}'}}\n")
	}
	noProfile, otherProfile := good, good
	noProfile.Profiles, otherProfile.Profiles = nil, []string{"2024-11-05"}
	for _, c := range []struct {
		name    string
		targets []gate.Target
		vectors []contract.Vector
		opt     gate.Options
		want    string
	}{
		{"no targets", nil, ping(""), gate.Options{}, "no targets"},
		{"no profile", []gate.Target{noProfile}, ping(""), gate.Options{}, "has no profiles"},
		{"other profile", []gate.Target{otherProfile}, ping(""), gate.Options{}, "2024-11-05"},
		{"no such vector", []gate.Target{good}, ping(""), gate.Options{Only: named("x")}, "no vector"},
		{"no Host", []gate.Target{good}, ping(", headers: {Host: null}"), gate.Options{}, "g/v: header Host"},
		{"own length", []gate.Target{good}, ping(", headers: {content-length: '1'}"), gate.Options{}, "g/v: header Content-Length"},
	} {
		_, err := gate.Check(t.Context(), c.targets, tools(t), c.vectors, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, wanted one with %q", c.name, err, c.want)
		}
	}
}

// A stream that stays open after the reply costs time, but is no failure.
func TestAStreamMayStayOpen(t *testing.T) {
	t.Parallel()
	target := serve(t, "open", false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else net/http does not see that the client leaves
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	v := parse(t, `{group: g, about: a, vectors: [{name: v, why: w, rpc: {method: ping, id: '1'}, expect: {reply: '{}'}}]}`)
	start := time.Now()
	report := check(t, []gate.Target{target}, v, gate.Options{Only: named("g/v"), Timeout: 20 * time.Second})
	if !report.OK() || time.Since(start) > 15*time.Second {
		t.Error(text(t, report))
	}
}

func TestTwoRepliesInOneStreamAreReported(t *testing.T) {
	t.Parallel()
	target := serve(t, "two", false, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", 2))
	}))
	v := parse(t, `{group: g, about: a, vectors: [{name: v, why: w, rpc: {method: ping, id: '1'}, expect: {reply: '{}'}}]}`)
	report := check(t, []gate.Target{target}, v, gate.Options{Only: named("g/v")})
	if d := report.Differences(); len(d) != 1 || d[0].Aspect != gate.AspectBody {
		t.Error(text(t, report))
	}
}

func TestCancelEndsACheck(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close() // waits for the handlers
	// A request's own context would not do: net/http sees that a client has left only once the body was read.
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := gate.Check(ctx, []gate.Target{{Name: "slow", URL: server.URL, Profiles: both}}, tools(t), vectors(t), gate.Options{})
	if !errors.Is(err, ctx.Err()) || err == nil {
		t.Errorf("got error %v", err)
	}
}

// What an expectation leaves open must still be the same on every server.
func TestPairwise(t *testing.T) {
	t.Parallel()
	v := parse(t, `
group: g
about: a
vectors:
  - name: open
    why: says nothing about result
    rpc: {method: tools/call, params: '{"name":"calculate_fibonacci","arguments":{"n":10}}'}
    expect: {contains: '{"structuredContent":{"n":10}}'}
  - name: closed
    why: says everything
    call: {tool: calculate_fibonacci, arguments: '{"n":10}'}
    expect: {result: '{"n":10,"result":55}'}
`)
	report := check(t, []gate.Target{
		target(t, "right", false, "", fauxserver.Fault{}),
		target(t, "free", false, "", fault(t, "text-escaped")),
		target(t, "wrong", false, "", fault(t, "fraction")),
	}, v, gate.Options{Only: named("g/open", "g/closed")})
	got := map[string]int{}
	for _, d := range report.Differences() {
		got[fmt.Sprintf("%s %s %s %s %s", d.Target, d.Other, d.Vector, d.Aspect, d.Pointer)]++
	}
	want := []string{
		"wrong right g/open structuredContent /result", "wrong right g/open content /0/text/result",
		"wrong  g/closed structuredContent /result", "wrong  g/closed schema /result",
	}
	for _, w := range want {
		if got[w] == 0 {
			t.Errorf("%q is missing in %v", w, got)
		}
		delete(got, w)
	}
	if len(got) > 0 {
		t.Errorf("%v is too much", got)
	}
}
