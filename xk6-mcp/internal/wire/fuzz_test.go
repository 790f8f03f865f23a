package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// plainEvents is the rule for event streams in the simplest words, for input that fits into memory:
// split into lines, then into events.
func plainEvents(stream string) (events []string) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)
	lines := strings.Split(stream, "\n")
	var data []string
	kind := ""
	for _, line := range lines[:len(lines)-1] { // the last one has no end
		if line == "" {
			if data != nil && (kind == "" || kind == "message") {
				events = append(events, strings.Join(data, "\n"))
			}
			data, kind = nil, ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			kind = value
		}
	}
	return events
}

// The reader finds the same events however the bytes arrive, never holds more than its limit allows,
// and ends.
func FuzzEventReader(f *testing.F) {
	for _, seed := range []string{
		"", "data: a\n\n", "data: a\r\rdata: b\r\n\r\n", "event: message\ndata: {}\nid: 1\nretry: 5\n\n", ": hi\n\n", "data",
		"data\n\n", "\ufeffdata: a\n\n", "event: x\ndata: a\n\nevent\ndata: b\n\n", "data: \xf0\x9f\x98\x80\n\n", "\r\n\n\r",
		"data: " + strings.Repeat("x", 200) + "\n\ndata: after\n\n", "data:  two\ndata: lines\n\n", "id: \x00\ndata:\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		const ample = 1 << 20
		want := plainEvents(stream)
		for _, r := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
			got, err := readEvents(r, ample)
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%q: %v", stream, err)
			}
			if strings.Join(got, "\x01") != strings.Join(want, "\x01") || len(got) != len(want) {
				t.Fatalf("%q: got %q, want %q", stream, got, want)
			}
		}
		// With a small limit, what is too large is left out, and what comes after it is found.
		const small = 16
		e := newEventReaderSize(strings.NewReader(stream), small, 16)
		for steps := 0; ; steps++ {
			if steps > len(stream)+1 {
				t.Fatalf("%q: no end", stream)
			}
			data, err := e.next()
			if len(data) > small {
				t.Fatalf("%q: an event of %d bytes", stream, len(data))
			}
			if err != nil && !errors.Is(err, errTooLarge) {
				break
			}
		}
	})
}

// The decoder accepts what encoding/json accepts, and finds the same members.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"no","data":[1]}}`,
		` { "method" : "n" , "params" : { "a" : [ 1 , "}" , null ] } } `, `{}`, `[]`, `null`, `1`, `""`, ``, `{"id":1`, `{"id":1}{}`,
		`{"\u0069d":1}`, `{"result":"\"\\"}`, `{"id":1,"id":2}`, `{"error":"no"}`, `{"error":null}`, `{"jsonrpc":2}`, "{\"id\":\"\xff\"}",
		`{"result":{"a":{"result":1}},"x":true,"y":-1.5e3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		m, failure := decode(data)
		if !bytes.Equal(before, data) {
			t.Fatal("the input was changed")
		}
		var object map[string]json.RawMessage
		valid := utf8.Valid(data) && json.Unmarshal(data, &object) == nil && object != nil
		if !valid {
			if failure == nil {
				t.Fatalf("%q was accepted", data)
			}
			return
		}
		if failure != nil {
			var want struct {
				JSONRPC string    `json:"jsonrpc"`
				Method  string    `json:"method"`
				Error   *RPCError `json:"error"`
			}
			if exact(object, &want) == nil {
				t.Fatalf("%q was refused: %v", data, failure)
			}
			return
		}
		for name, got := range map[string]json.RawMessage{"id": m.ID, "params": m.Params, "result": m.Result} {
			if want := object[name]; !bytes.Equal(bytes.TrimSpace(want), got) {
				t.Fatalf("%q: %s is %q, want %q", data, name, got, want)
			}
		}
		var method string
		_ = json.Unmarshal(object["method"], &method)
		if m.Method != method {
			t.Fatalf("%q: the method is %q, want %q", data, m.Method, method)
		}
		var r Reply
		m.settle(&r)
		if (r.Err == nil) != (r.Result != nil) {
			t.Fatalf("%q: neither result nor error, or both", data)
		}
	})
}

// exact decodes only members with exactly these names: encoding/json would take "ID" for "id".
func exact(object map[string]json.RawMessage, v any) error {
	known := map[string]json.RawMessage{}
	for _, name := range []string{"jsonrpc", "method", "error"} {
		if value, ok := object[name]; ok {
			known[name] = value
		}
	}
	data, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// What the protocol wants in _meta gets there, and nothing else is lost.
func FuzzAddMeta(f *testing.F) {
	for _, seed := range []string{``, `{}`, ` { } `, `{"a":1}`, `{"_meta":{"x":1}}`, `{"\u005fmeta":{"x":1},"b":2}`, `[]`, `null`, `{`, `{"a":"_meta\""}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		s := &Session{meta: json.RawMessage(`{"k":"v"}`)}
		got, failure := s.addMeta(params, "1", Options{})
		var before, after map[string]any
		if len(params) > 0 && (json.Unmarshal(params, &before) != nil || before == nil) {
			return // what is not an object is refused, or sent as it is for the server to refuse
		}
		if failure != nil {
			if _, isObject := before["_meta"].(map[string]any); before["_meta"] == nil || isObject {
				t.Fatalf("%q: %v", params, failure)
			}
			return
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%q became %q: %v", params, got, err)
		}
		meta, ok := after["_meta"].(map[string]any)
		if !ok || (meta["k"] != "v" && before["_meta"] == nil) {
			t.Fatalf("%q became %q", params, got)
		}
		for name := range before {
			if _, ok := after[name]; !ok {
				t.Fatalf("%q became %q: %s is lost", params, got, name)
			}
		}
	})
}
