package httpserver

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// message is the envelope of a JSON-RPC message: enough to tell whether the SDK
// can be trusted with it. The SDK itself takes batches from clients without a
// version header, ignores what follows the first JSON value, rounds ids and
// replaces lone surrogates.
type message struct {
	JSONRPC jsontext.Value `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  jsontext.Value `json:"method"`
	Params  kind           `json:"params"`
	Result  kind           `json:"result"`
	Error   kind           `json:"error"`

	method string
}

// kind is the first byte of a JSON value, the value itself being skipped, or 0
// when it is absent.
type kind jsontext.Kind

func (k *kind) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*k = kind(d.PeekKind())
	return d.SkipValue()
}

func (m *message) isCall() bool         { return m.Method != nil && m.ID != nil }
func (m *message) isNotification() bool { return m.Method != nil && m.ID == nil }

// parseMessage checks everything that the contract calls a malformed message.
func parseMessage(body []byte) (*message, *jsonrpc.Error) {
	var m message
	// The last of two equal keys counts.
	if err := json.Unmarshal(body, &m, jsontext.AllowDuplicateNames(true)); err != nil {
		var syntactic *jsontext.SyntacticError
		if errors.As(err, &syntactic) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the body must be one JSON value: " + err.Error()}
		}
		return nil, invalidRequest("the message must be one JSON object; batches left the protocol in 2025-06-18")
	}
	if m.ID != nil && !isID(m.ID) {
		m.ID = nil
		return &m, invalidRequest("id must be a string, or an integer from -(2^53-1) to 2^53-1")
	}
	if string(m.JSONRPC) != `"2.0"` {
		return &m, invalidRequest(`jsonrpc must be "2.0"`)
	}
	switch {
	case m.Method != nil:
		if json.Unmarshal(m.Method, &m.method) != nil || m.Method.Kind() != '"' {
			return &m, invalidRequest("method must be a string")
		}
	case m.ID == nil || (m.Result == 0 && m.Error == 0):
		return &m, invalidRequest("a message needs a method, or an id and a result or error")
	}
	return &m, nil
}

// isID reports whether the SDK, which keeps ids as int64, returns v unchanged.
func isID(v jsontext.Value) bool {
	switch v.Kind() {
	case '"':
		return true
	case '0':
		f, err := strconv.ParseFloat(string(v), 64)
		return err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53-1
	}
	return false
}

// allDoubles reports whether every number of a well-formed message has a
// double; 1e400 has none.
func allDoubles(body []byte) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	for {
		token, err := d.ReadToken()
		if err != nil { // io.EOF, the message being well-formed
			return true
		}
		if token.Kind() == '0' {
			if _, err := token.Float(); err != nil {
				return false
			}
		}
	}
}

func invalidRequest(text string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text}
}

// reply answers m, which is nil when the message could not be read, with a
// JSON-RPC error.
func reply(w http.ResponseWriter, status int, m *message, err *jsonrpc.Error) {
	id := jsontext.Value("null")
	if m != nil && m.ID != nil {
		id = m.ID
	}
	writeJSON(w, status, struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   *jsonrpc.Error `json:"error"`
	}{"2.0", id, err})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	if err := json.MarshalWrite(&body, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client has gone; there is nobody to tell
}
