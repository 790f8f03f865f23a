// Package mcp is the k6 extension k6/x/mcp: load tests of Model Context Protocol servers. What a
// script sees is declared and described in index.d.ts.
package mcp

import (
	"context"
	"net/http"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"golang.org/x/time/rate"
)

// Version of the extension; the client names it to the servers.
const Version = "0.1.0"

// maxIdleConnections per VU and host: in effect as many as the VU has opened. k6 keeps 6, which makes a VU
// that fans out open connections again and again.
const maxIdleConnections = 10_000

// The size of a connection's buffers, for each direction. What goes through at once saves system calls, which are a good part of a
// call's cost. Streams are nearly always silent, and of thousands of them the buffers would be most of the memory.
const (
	bufferSize       = 8 << 10
	streamBufferSize = 1 << 10
)

func init() {
	modules.Register("k6/x/mcp", New())
}

// RootModule is shared by all VUs of the process.
type RootModule struct {
	run *run
}

// New returns a module for one test run.
func New() *RootModule {
	return &RootModule{run: newRun()}
}

// NewModuleInstance implements modules.Module.
func (r *RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	mi := &moduleInstance{vu: vu, run: r.run, arrival: arrival{iteration: -1}}
	if err := r.run.begin(vu); err != nil {
		common.Throw(vu.Runtime(), err)
	}
	var err error
	if mi.metrics, err = registerMetrics(vu.InitEnv().Registry); err != nil {
		common.Throw(vu.Runtime(), err)
	}
	mi.parseJSON = captureJSONParse(vu.Runtime())
	return mi
}

// moduleInstance is the module in one VU. Everything in it runs on that VU's JavaScript thread.
type moduleInstance struct {
	vu        modules.VU
	run       *run
	metrics   *metricSet
	parseJSON func(string) (sobek.Value, error)

	http    transports // made on first use, because there is no lib.State before
	arrival arrival
}

// arrival says when the current iteration was meant to begin.
type arrival struct {
	iteration      int64
	intended       time.Time // zero when nothing was intended
	lagged, called bool      // the first operation, and the first call, have begun
}

func (mi *moduleInstance) arrivalOf(ctx context.Context, state *lib.State) *arrival {
	if mi.arrival.iteration != state.Iteration {
		mi.arrival = arrival{iteration: state.Iteration}
		if intended, ok := intendedStart(ctx, state); ok {
			mi.arrival.intended = intended
		}
	}
	return &mi.arrival
}

// Exports implements modules.Instance.
func (mi *moduleInstance) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{
		"Client":  mi.newClient,
		"codes":   codes,
		"encode":  mi.encode,
		"version": Version,
	}}
}

// transports have this VU's connections, for calls and for streams.
type transports struct {
	calls, streams       *http.Transport
	iteration            int64             // in which they were last used
	viaCalls, viaStreams http.RoundTripper // the same, within k6's rps option
}

// transports are k6's own, so that its dialer, TLS settings and options hold, with more idle connections.
func (mi *moduleInstance) transports() *transports {
	state := mi.vu.State()
	t := &mi.http
	if t.calls == nil {
		t.calls, t.viaCalls = mi.newTransport(state, bufferSize)
		t.streams, t.viaStreams = mi.newTransport(state, streamBufferSize)
	}
	// k6 closes its own transport's connections after each iteration under this option.
	if state.Options.NoVUConnectionReuse.Bool && t.iteration != state.Iteration {
		t.calls.CloseIdleConnections()
		t.streams.CloseIdleConnections()
	}
	t.iteration = state.Iteration
	return t
}

func (mi *moduleInstance) newTransport(state *lib.State, buffer int) (*http.Transport, http.RoundTripper) {
	var t *http.Transport
	if base, ok := state.Transport.(*http.Transport); ok {
		t = base.Clone()
	} else {
		t = &http.Transport{
			DialContext:        state.Dialer.DialContext,
			TLSClientConfig:    state.TLSConfig,
			DisableCompression: true,
			DisableKeepAlives:  state.Options.NoConnectionReuse.Bool,
			ForceAttemptHTTP2:  true,
		}
	}
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = maxIdleConnections
	t.ReadBufferSize, t.WriteBufferSize = buffer, buffer
	mi.run.own(t)
	if state.RPSLimit != nil {
		return t, limitedTransport{t, state.RPSLimit}
	}
	return t, t
}

// limitedTransport keeps k6's rps option, for whatever is sent. The wait is part of a call's timeout, not of
// its duration.
type limitedTransport struct {
	next  http.RoundTripper
	limit *rate.Limiter
}

func (t limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.limit.Wait(req.Context()); err != nil {
		return nil, err
	}
	return t.next.RoundTrip(req)
}

// codes are the JSON-RPC error codes of the protocol.
var codes = map[string]int{
	"parseError": -32700, "invalidRequest": -32600, "methodNotFound": -32601, "invalidParams": -32602, "internalError": -32603,
	"resourceNotFound": -32002, "headerMismatch": -32020, "missingClientCapability": -32021,
	"unsupportedProtocolVersion": -32022, "urlElicitationRequired": -32042,
}

// state returns the VU's state, or throws if what is called needs a server and k6 is still in the
// init context, in which there is no network.
func (mi *moduleInstance) state(what string) *lib.State {
	state := mi.vu.State()
	if state == nil {
		common.Throw(mi.vu.Runtime(), common.NewInitContextError(
			what+" in the init context is not supported: make the Client there, and call this in the default function or in setup()"))
	}
	return state
}

// captureJSONParse takes the runtime's JSON.parse before a script can replace it.
func captureJSONParse(rt *sobek.Runtime) func(string) (sobek.Value, error) {
	json := rt.GlobalObject().Get("JSON")
	parse, ok := sobek.AssertFunction(json.ToObject(rt).Get("parse"))
	if !ok {
		panic("this JavaScript runtime has no JSON.parse")
	}
	return func(text string) (sobek.Value, error) { return parse(json, rt.ToValue(text)) }
}
