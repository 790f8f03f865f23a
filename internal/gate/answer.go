package gate

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-parity/mcp-parity/internal/jsondiff"
)

// class is what kind of answer a server gave.
type class string

const (
	classResult        class = "result"
	classToolError     class = "tool error"
	classProtocolError class = "protocol error"
	classHTTP          class = "HTTP answer without a JSON-RPC message"
)

// reply is an answer, read as a JSON-RPC response.
type reply struct {
	answer
	class   class
	message map[string]any // nil for classHTTP
	// problem says why there is no message although the media type promises one.
	problem string
}

// read parses an answer. Only what claims to be JSON or a stream is looked at.
func read(a answer) reply {
	r := reply{answer: a, class: classHTTP}
	text := a.body
	switch {
	case a.stream && len(a.replies) > 1:
		r.problem = fmt.Sprintf("the stream has %d replies to one request", len(a.replies))
		return r
	case a.stream && len(a.replies) == 1:
		text = a.replies[0]
	case a.stream, a.mediaType() != "application/json", len(a.body) == 0:
		return r
	}
	value, err := jsondiff.Parse(text)
	if err != nil {
		r.problem = "not JSON: " + err.Error()
		return r
	}
	message, ok := value.(map[string]any)
	if !ok {
		return r
	}
	switch result := message["result"].(type) {
	case map[string]any:
		r.class = classResult
		if result["isError"] == true {
			r.class = classToolError
		}
	default:
		if _, ok := message["result"]; ok {
			r.class = classResult
		} else if _, ok := message["error"].(map[string]any); ok {
			r.class = classProtocolError
		} else {
			return r
		}
	}
	r.message = message
	return r
}

// result is the result member; nil unless it is an object.
func (r reply) result() map[string]any {
	result, _ := r.message["result"].(map[string]any)
	return result
}

// code is the JSON text of the error's code.
func (r reply) code() string {
	e, _ := r.message["error"].(map[string]any)
	if code, ok := e["code"]; ok {
		return jsondiff.Text(code)
	}
	return "absent"
}

// describe is a short account of the answer for people.
func (r reply) describe() string {
	switch r.class {
	case classResult:
		value := r.message["result"]
		if structured, ok := r.result()["structuredContent"]; ok {
			value = structured
		}
		return "result " + jsondiff.Shorten(jsondiff.Text(value))
	case classToolError:
		return "tool error " + jsondiff.Shorten(jsondiff.Text(r.result()["content"]))
	case classProtocolError:
		e, _ := r.message["error"].(map[string]any)
		return fmt.Sprintf("protocol error %s %s", r.code(), jsondiff.Shorten(jsondiff.Text(e["message"])))
	}
	text := fmt.Sprintf("HTTP %d", r.status)
	if media := r.mediaType(); media != "" {
		text += " " + media
	}
	if r.problem != "" {
		text += ", " + r.problem
	}
	if body := strings.TrimSpace(string(r.body)); body != "" {
		text += ": " + jsondiff.Shorten(strings.ToValidUTF8(body, "\uFFFD"))
	}
	return text
}

// isReply tells a JSON-RPC response from a request or notification of the server. What cannot be read is taken for the
// reply, so that it is reported.
func isReply(text []byte) bool {
	var message struct {
		Method *json.RawMessage `json:"method"`
	}
	return json.Unmarshal(text, &message) != nil || message.Method == nil
}
