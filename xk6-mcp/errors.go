package mcp

import (
	"encoding/json"
	"errors"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib/netext"

	"github.com/mcp-parity/mcp-parity/xk6-mcp/internal/wire"
)

// The codes of k6 for what its own dialer refuses.
const (
	codeBlacklistedIP   = 1110
	codeBlockedHostname = 1111
)

// k6Code is the number by which k6/http tags the same failure, 0 if it has none.
func k6Code(e *wire.Error) int {
	var ip netext.BlackListedIPError
	var host netext.BlockedHostError
	switch {
	case errors.As(e, &ip):
		return codeBlacklistedIP
	case errors.As(e, &host):
		return codeBlockedHostname
	}
	return e.K6Code()
}

// newError makes the McpError of index.d.ts: a JavaScript Error that says more.
func newError(rt *sobek.Runtime, e *wire.Error) *sobek.Object {
	obj, err := rt.New(rt.GlobalObject().Get("Error"), rt.ToValue(e.Message))
	if err != nil {
		panic(err)
	}
	set(obj, "name", "McpError")
	set(obj, "kind", string(e.Kind))
	set(obj, "status", e.Status)
	if code := k6Code(e); code != 0 {
		set(obj, "k6Code", code)
	}
	if e.RPC != nil {
		set(obj, "code", e.RPC.Code)
		if len(e.RPC.Data) > 0 {
			var data any
			if json.Unmarshal(e.RPC.Data, &data) == nil {
				set(obj, "data", data)
			}
		}
	}
	return obj
}

// throwWire throws a failure of the wire as a McpError, anything else as it is.
func throwWire(rt *sobek.Runtime, err error) {
	var e *wire.Error
	if errors.As(err, &e) {
		panic(newError(rt, e))
	}
	common.Throw(rt, err)
}

// errorValue is what throwWire throws, for promises.
func errorValue(rt *sobek.Runtime, err error) *sobek.Object {
	var e *wire.Error
	if errors.As(err, &e) {
		return newError(rt, e)
	}
	return rt.NewGoError(err)
}
