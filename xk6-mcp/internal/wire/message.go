package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"
)

// message is any JSON-RPC message that a server may send.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   *RPCError       `json:"error"`
}

// appendRequest appends a JSON-RPC request, or a notification when id is 0. params may be empty.
func appendRequest(b []byte, id int64, method string, params []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0"`...)
	if id != 0 {
		b = append(b, `,"id":`...)
		b = strconv.AppendInt(b, id, 10)
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
	q, _ := json.Marshal(s) // a string always marshals
	return append(b, q...)
}

// decode parses one message and tells one that is cut off from one that is wrong.
func decode(data []byte) (message, *Error) {
	var m message
	if !utf8.Valid(data) {
		return m, errorf(KindMalformed, "the reply is not UTF-8: %s", excerpt(data))
	}
	if err := json.Unmarshal(data, &m); err != nil {
		if len(bytes.TrimSpace(data)) == 0 {
			return m, errorf(KindTruncated, "the reply is empty")
		}
		if endsEarly(data) {
			return m, errorf(KindTruncated, "the reply ends early after %d bytes: %w", len(data), err)
		}
		return m, errorf(KindMalformed, "the reply is no JSON-RPC message: %w: %s", err, excerpt(data))
	}
	return m, nil
}

// endsEarly reports whether data is the start of a JSON value that goes on.
func endsEarly(data []byte) bool {
	var v json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(data)).Decode(&v), io.ErrUnexpectedEOF)
}

// answers reports whether m is the reply to the request with this id: ids are compared as written,
// because a server that returns "1" or 1.0 for 1 has changed the id.
func (m *message) answers(id int64) bool {
	var buf [20]byte
	return m.Method == "" && bytes.Equal(m.ID, strconv.AppendInt(buf[:0], id, 10))
}

// settle puts the content of the matching reply into r.
func (m *message) settle(r *Reply) {
	switch {
	case m.JSONRPC != "2.0":
		r.Err = errorf(KindMalformed, `the reply's "jsonrpc" is %q, not "2.0"`, m.JSONRPC)
	case m.Error != nil && m.Result != nil && string(m.Result) != "null":
		r.Err = errorf(KindMalformed, "the reply has both a result and an error")
	case m.Error != nil:
		r.Err = errorf(KindRPC, "JSON-RPC error %d: %s", m.Error.Code, m.Error.Message)
		r.Err.RPC = m.Error
	case len(m.Result) == 0 || m.Result[0] != '{':
		r.Err = errorf(KindMalformed, "the reply's result is not an object: %s", excerpt(m.Result))
	default:
		r.Result = m.Result
	}
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
