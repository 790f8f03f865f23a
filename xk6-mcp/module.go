// Package mcp is the k6 extension k6/x/mcp: load tests of Model Context Protocol servers. What a
// script sees is declared and described in index.d.ts.
package mcp

import (
	"net/http"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
)

// Version of the extension; the client names it to the servers.
const Version = "0.1.0"

// maxIdleConnections per VU and host. k6 keeps 6, which makes a VU that fans out open connections
// again and again.
const maxIdleConnections = 64

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
	mi := &moduleInstance{vu: vu, run: r.run}
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

	transport *http.Transport // made on first use, because there is no lib.State before
	iteration int64           // in which transport was last used
}

// Exports implements modules.Instance.
func (mi *moduleInstance) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{
		"Client":  mi.newClient,
		"version": Version,
	}}
}

// roundTripper is this VU's own connection pool: k6's transport, so that its dialer, TLS settings and
// options hold, with more idle connections.
func (mi *moduleInstance) roundTripper() *http.Transport {
	state := mi.vu.State()
	if mi.transport == nil {
		if base, ok := state.Transport.(*http.Transport); ok {
			mi.transport = base.Clone()
		} else {
			mi.transport = &http.Transport{
				DialContext:        state.Dialer.DialContext,
				TLSClientConfig:    state.TLSConfig,
				DisableCompression: true,
				DisableKeepAlives:  state.Options.NoConnectionReuse.Bool,
				ForceAttemptHTTP2:  true,
			}
		}
		mi.transport.MaxIdleConns = 0
		mi.transport.MaxIdleConnsPerHost = maxIdleConnections
		mi.run.own(mi.transport)
	}
	// k6 closes its own transport's connections after each iteration under this option.
	if state.Options.NoVUConnectionReuse.Bool && mi.iteration != state.Iteration {
		mi.transport.CloseIdleConnections()
	}
	mi.iteration = state.Iteration
	return mi.transport
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
