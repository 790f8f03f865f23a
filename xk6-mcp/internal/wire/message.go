package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// message is any JSON-RPC message that a server may send.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *RPCError       `json:"error"`
}

// appendRequest appends a JSON-RPC request, or a notification when id is empty. params may be empty.
func appendRequest(b []byte, id, method string, params []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0"`...)
	if id != "" {
		b = append(b, `,"id":`...)
		b = append(b, id...)
	}
	b = append(b, `,"method":`...)
	b = appendString(b, method)
	if len(params) > 0 {
		b = append(b, `,"params":`...)
		b = append(b, params...)
	}
	return append(b, '}')
}

func appendString(b []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			q, _ := json.Marshal(s) // a string always marshals
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// decode parses one message and tells one that is cut off from one that is wrong. The message refers to
// data.
func decode(data []byte) (message, *Error) {
	var m message
	if !utf8.Valid(data) {
		return m, errorf(KindMalformed, "the reply is not UTF-8: %s", excerpt(data))
	}
	err := m.read(data)
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return m, nil
	case len(bytes.TrimSpace(data)) == 0:
		return m, errorf(KindTruncated, "the reply is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return m, errorf(KindTruncated, "the reply ends early after %d bytes", len(data))
	case errors.As(err, &syntax):
		return m, errorf(KindMalformed, "the reply is not JSON: %s", excerpt(data))
	}
	return m, errorf(KindMalformed, "the reply is no JSON-RPC message: %w: %s", err, excerpt(data))
}

// decoders are used again, for their buffers.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// read finds the members of the message in one pass. encoding/json would make several, and copy a result
// of which nothing may be used.
func (m *message) read(data []byte) error {
	d, ok := decoders.Get().(*jsontext.Decoder)
	if !ok {
		panic("decoders has only decoders")
	}
	// As encoding/json has it: a lone surrogate in an escape is fine, and the last of two equal names counts.
	d.Reset(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	defer func() {
		d.Reset(bytes.NewReader(nil)) // lets go of data
		decoders.Put(d)
	}()
	value := func() ([]byte, error) {
		v, err := d.ReadValue()
		end := int(d.InputOffset())
		return data[end-len(v) : end : end], err
	}
	var wrong error // if it is JSON all the same
	if d.PeekKind() != '{' {
		wrong = errors.New("want an object")
		if _, err := value(); err != nil {
			return err
		}
	} else {
		_, _ = d.ReadToken() // it has been seen
		for d.PeekKind() != '}' {
			name, err := value()
			if err != nil {
				return err
			}
			v, err := value()
			if err != nil {
				return err
			}
			if err := m.set(name, v); err != nil && wrong == nil {
				wrong = err
			}
		}
		_, _ = d.ReadToken()
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = &jsontext.SyntacticError{Err: errors.New("more than one value")}
		}
		return err
	}
	return wrong
}

// set sets the member with this name, as it is written.
func (m *message) set(name, value []byte) error {
	if bytes.IndexByte(name, '\\') >= 0 { // a name may be written with escapes
		var plain string
		if err := json.Unmarshal(name, &plain); err != nil {
			return err
		}
		name = appendString(nil, plain)
	}
	switch string(name) {
	case `"jsonrpc"`:
		if string(value) == `"2.0"` {
			m.JSONRPC = "2.0"
			return nil
		}
		return json.Unmarshal(value, &m.JSONRPC)
	case `"id"`:
		m.ID = value
	case `"method"`:
		return json.Unmarshal(value, &m.Method)
	case `"params"`:
		m.Params = value
	case `"result"`:
		m.Result = value
	case `"error"`:
		m.Error = nil
		return json.Unmarshal(value, &m.Error)
	}
	return nil
}

// answers reports whether m is the reply to the request with this id: ids are compared as written,
// because a server that returns "1" or 1.0 for 1 has changed the id.
func (m *message) answers(id string) bool {
	return m.Method == "" && string(m.ID) == id
}

// settle puts the content of the matching reply into r.
func (m *message) settle(r *Reply) {
	switch {
	case m.JSONRPC != "2.0":
		r.Err = errorf(KindMalformed, `the reply's "jsonrpc" is %q, not "2.0"`, m.JSONRPC)
	case m.Error != nil && m.Result != nil && string(m.Result) != "null":
		r.Err = errorf(KindMalformed, "the reply has both a result and an error")
	case m.Error != nil:
		r.Err = &Error{Kind: m.Error.kind(), RPC: m.Error, Message: m.Error.text()}
	case len(m.Result) == 0 || m.Result[0] != '{':
		r.Err = errorf(KindMalformed, "the reply's result is not an object: %s", excerpt(m.Result))
	default:
		r.Result = m.Result
	}
}

// elements are the messages of a batch, or nil if data is no array.
func elements(data []byte) []json.RawMessage {
	var batch []json.RawMessage
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' || json.Unmarshal(data, &batch) != nil {
		return nil
	}
	return batch
}

func isObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}

// nameOf is what the header Mcp-Name must say of a request.
func nameOf(method string, params []byte) string {
	var p struct{ Name, URI string }
	switch method {
	case "tools/call", "prompts/get", "resources/read":
		_ = json.Unmarshal(params, &p) // without a name the server says what is wrong
	}
	if method == "resources/read" {
		return p.URI
	}
	return p.Name
}

// headerValue is s as the value of Mcp-Name: in base64 if HTTP could not carry it unchanged, or if it
// could be taken for that.
func headerValue(s string) string {
	plain := !strings.HasPrefix(s, "=?base64?") && strings.Trim(s, " \t") == s
	for _, c := range []byte(s) {
		plain = plain && c >= ' ' && c <= '~'
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// addMeta sets in params._meta what each request of a session without state carries, what the call
// wants there, and the progress token, which is the request's id.
func (s *Session) addMeta(params []byte, id string, opts Options) ([]byte, *Error) {
	if s.meta == nil && opts.Meta == nil && opts.Progress == nil {
		return params, nil
	}
	if s.meta != nil && opts.Meta == nil && opts.Progress == nil && !bytes.Contains(params, []byte(`_meta"`)) &&
		!bytes.Contains(params, []byte(`\u`)) { // the usual case, without parsing
		rest := bytes.TrimSpace(params)
		if len(rest) == 0 {
			rest = []byte("{}")
		}
		if rest[0] == '{' && len(rest) > 1 {
			b := append(make([]byte, 0, len(rest)+len(s.meta)+16), `{"_meta":`...)
			b = append(b, s.meta...)
			if rest = bytes.TrimLeft(rest[1:], " \t\r\n"); rest[0] != '}' {
				b = append(b, ',')
			}
			return append(b, rest...), nil
		}
	}
	members := map[string]json.RawMessage{}
	if len(params) > 0 && json.Unmarshal(params, &members) != nil || members == nil {
		return nil, errorf(KindMalformed, "params %s: want an object, to set _meta in it", excerpt(params))
	}
	meta := map[string]json.RawMessage{}
	for _, source := range []json.RawMessage{s.meta, members["_meta"], opts.Meta} {
		if len(source) == 0 {
			continue
		}
		if err := json.Unmarshal(source, &meta); err != nil || meta == nil {
			return nil, errorf(KindMalformed, "_meta %s: want an object", excerpt(source))
		}
	}
	if opts.Progress != nil {
		meta["progressToken"] = json.RawMessage(id)
	}
	var err error
	if members["_meta"], err = json.Marshal(meta); err == nil {
		params, err = json.Marshal(members)
	}
	if err != nil {
		return nil, errorf(KindMalformed, "params: %w", err)
	}
	return params, nil
}

// isToolError reports whether a tools/call result says isError. Results are large and nearly always
// good, so the second parse is made only when the key can be in there at all; a key may be written
// with \u escapes.
func isToolError(result []byte) bool {
	if !bytes.Contains(result, []byte(`"isError"`)) && !bytes.Contains(result, []byte(`\u`)) {
		return false
	}
	var v struct {
		IsError bool `json:"isError"`
	}
	return json.Unmarshal(result, &v) == nil && v.IsError
}

// firstText is the first text block of a tool result: the message of a tool error.
func firstText(result []byte) string {
	var v struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(result, &v) != nil || len(v.Content) == 0 {
		return "the tool failed without saying why"
	}
	return excerpt([]byte(v.Content[0].Text))
}
