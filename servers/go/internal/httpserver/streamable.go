package httpserver

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxBody = 4 << 20 // bytes

	// firstModern is the revision from which the SDK answers every malformed
	// call with a JSON-RPC error of its own.
	firstModern = "2026-07-28"
)

// streamable puts the contract's checks before the SDK's handler, in the
// contract's order. The SDK has its own order and answers most of them with
// HTTP 400 and plain text.
type streamable struct {
	sdk      http.Handler
	stateful bool
	versions []string // that this server speaks
	drain    *drain
}

func (s *streamable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		s.servePOST(w, r)
	case s.stateful && r.Method == http.MethodGet:
		s.drain.end(s.sdk).ServeHTTP(w, r)
	case s.stateful && r.Method == http.MethodDelete:
		s.sdk.ServeHTTP(w, r)
	default:
		w.Header().Set("Allow", s.methods())
		http.Error(w, "method must be one of: "+s.methods(), http.StatusMethodNotAllowed)
	}
}

func (s *streamable) methods() string {
	if s.stateful {
		return "POST, GET, DELETE"
	}
	return "POST"
}

func (s *streamable) servePOST(w http.ResponseWriter, r *http.Request) {
	if !acceptsBoth(r.Header) {
		http.Error(w, "Accept must allow application/json and text/event-stream", http.StatusNotAcceptable)
		return
	}
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := readBody(r)
	switch {
	case errors.Is(err, errTooLarge):
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the body could not be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	msg, malformed := parseMessage(body)
	if malformed != nil {
		reply(w, http.StatusBadRequest, msg, malformed)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.route(w, r, msg, body)
}

// served are the methods that this server has, and the notifications that mean
// something to it. The SDK also knows those of capabilities that are not declared.
var served = map[string]bool{
	"initialize":                true,
	"ping":                      true,
	"tools/list":                true,
	"tools/call":                true,
	"server/discover":           true,
	"notifications/initialized": true,
	"notifications/cancelled":   true,
}

// route answers a well-formed message itself where the SDK would answer
// otherwise than the contract asks.
func (s *streamable) route(w http.ResponseWriter, r *http.Request, msg *message, body []byte) {
	version := r.Header.Get("Mcp-Protocol-Version")
	next := s.sdk
	switch {
	case msg.isCall() && version >= firstModern:
		if !allDoubles(body) {
			// The SDK decodes the arguments to compare headers, fails, and blames Mcp-Name.
			reply(w, http.StatusBadRequest, msg, invalidRequest("a number is too large for a double"))
			return
		}
		if msg.method == "subscriptions/listen" {
			next = s.drain.end(next)
		}
	case version != "" && !slices.Contains(s.versions, version):
		reply(w, http.StatusBadRequest, msg, invalidRequest("MCP-Protocol-Version must be one of: "+strings.Join(s.versions, ", ")))
		return
	case s.stateful && msg.method != "initialize" && r.Header.Get("Mcp-Session-Id") == "":
		// The SDK would open a session for any first message.
		reply(w, http.StatusBadRequest, msg, invalidRequest("Mcp-Session-Id is missing: send the one that initialize returned"))
		return
	case msg.isNotification() && !served[msg.method]:
		w.WriteHeader(http.StatusAccepted)
		return
	case msg.isCall() && !served[msg.method]:
		reply(w, http.StatusOK, msg, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "unknown method " + msg.method})
		return
	case msg.isCall() && msg.Params != '{' && (msg.method == "initialize" || msg.method == "tools/call"):
		reply(w, http.StatusOK, msg, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params must be an object"})
		return
	}
	next.ServeHTTP(w, r)
}

// speaks lists the protocol versions that are served, newest first.
func speaks(stateful bool) []string {
	return slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(version string) bool {
		// From 2026-07-28 there are no sessions.
		return stateful && version >= firstModern
	})
}

// acceptsBoth reports whether the client takes JSON and an event stream. An
// absent header means anything, which the SDK has to be told.
func acceptsBoth(header http.Header) bool {
	values := header["Accept"]
	if len(values) == 0 {
		header["Accept"] = []string{"*/*"}
		return true
	}
	var takesJSON, takesStream bool
	for _, value := range values {
		for mediaRange := range strings.SplitSeq(value, ",") {
			mediaType, _, _ := strings.Cut(mediaRange, ";")
			switch strings.ToLower(strings.TrimSpace(mediaType)) {
			case "*/*":
				takesJSON, takesStream = true, true
			case "application/json", "application/*":
				takesJSON = true
			case "text/event-stream", "text/*":
				takesStream = true
			}
		}
	}
	return takesJSON && takesStream
}

var errTooLarge = errors.New("the body is larger than 4 MiB")

// readBody reads at most maxBody bytes. Of a larger body it takes in as much
// again before it gives up, so that most clients can finish sending and then
// see the answer, rather than a reset connection.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength >= 0 && r.ContentLength <= maxBody {
		body := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		_, _ = io.CopyN(io.Discard, r.Body, maxBody)
		err = errTooLarge
	}
	return body, err
}
