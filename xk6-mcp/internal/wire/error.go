package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// Kind is the class of a failure: where on the way from call to result it happened.
type Kind string

// The kinds, in the order in which a call can meet them.
const (
	KindDNS          Kind = "dns"          // the host name did not resolve
	KindConnect      Kind = "connect"      // no TCP connection
	KindTLS          Kind = "tls"          // no TLS on it
	KindTimeout      Kind = "timeout"      // the call's own time was up
	KindInterrupted  Kind = "interrupted"  // the caller's context ended first
	KindReset        Kind = "reset"        // the connection broke while the call was on it
	KindHTTP         Kind = "http"         // an HTTP status that says neither of the next four
	KindUnauthorized Kind = "unauthorized" // 401, 403
	KindRateLimited  Kind = "rate_limited" // 429
	KindUnavailable  Kind = "unavailable"  // 502, 503, 504
	KindSessionLost  Kind = "session_lost" // 404 to a request that carried a session id
	KindVersion      Kind = "version"      // the two sides have no revision in common
	// KindHeaderMismatch is a request whose headers the server finds missing, or in contradiction to it.
	KindHeaderMismatch Kind = "header_mismatch"
	KindMalformed      Kind = "malformed" // complete, but no reply to this request
	KindTruncated      Kind = "truncated" // ended before the reply was complete
	KindTooLarge       Kind = "too_large" // larger than the limit
	KindRPC            Kind = "rpc"       // a JSON-RPC error
	KindTool           Kind = "tool"      // a tool result with isError
	KindCancelled      Kind = "cancelled" // given up by Options.CancelAfter
	KindSpawn          Kind = "spawn"     // the child process did not start
	KindExit           Kind = "exit"      // the child process has ended
)

// Error says why a call has no good result.
type Error struct {
	Kind    Kind
	Message string
	// Status is the HTTP status, 0 when none arrived.
	Status int
	// RPC is the JSON-RPC error object, when the server sent one, whatever the kind.
	RPC *RPCError

	cause error
}

// RPCError is the error member of a JSON-RPC reply.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// The codes of MCP that have a kind of their own.
const (
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

func (e *RPCError) kind() Kind {
	switch e.Code {
	case codeHeaderMismatch:
		return KindHeaderMismatch
	case codeUnsupportedVersion:
		return KindVersion
	}
	return KindRPC
}

func (e *RPCError) text() string { return fmt.Sprintf("JSON-RPC error %d: %s", e.Code, e.Message) }

func (e *Error) Error() string { return string(e.Kind) + ": " + e.Message }

// Unwrap returns the error of the network or the decoder beneath, if any.
func (e *Error) Unwrap() error { return e.cause }

func errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), cause: errors.Unwrap(err)}
}

// statusError classifies an HTTP status outside 2xx. The start of the body is what a person needs to
// see why; a JSON-RPC error in it is kept.
func statusError(status int, body []byte, inSession bool) *Error {
	e := &Error{Kind: KindHTTP, Status: status, Message: fmt.Sprintf("HTTP %d %s", status, http.StatusText(status))}
	var m message
	if json.Unmarshal(body, &m) == nil && m.Error != nil {
		e.Kind, e.RPC = m.Error.kind(), m.Error
		e.Message += ": " + m.Error.text()
	} else if len(body) > 0 {
		e.Message += ": " + excerpt(body)
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Kind = KindUnauthorized
	case status == http.StatusNotFound && inSession:
		e.Kind = KindSessionLost
	case status == http.StatusTooManyRequests:
		e.Kind = KindRateLimited
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		e.Kind = KindUnavailable
	}
	return e
}

// connectError classifies a failure to get a connection by the last step that was begun.
func connectError(err error, t *trace) *Error {
	kind := KindConnect
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		kind = KindDNS
	case t.tlsStart.Load() != 0 && t.tlsDone.Load() == 0:
		kind = KindTLS
	}
	return errorf(kind, "%w", err)
}

// excerpt is the start of a body on one line.
func excerpt(body []byte) string {
	const most = 200
	s := strings.Join(strings.Fields(string(body)), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
