package gate

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/jsondiff"
)

const mcpPath = "/mcp"

// request is one HTTP request, ready to send.
type request struct {
	method  string
	path    string
	header  http.Header
	body    []byte
	chunked bool
	// id is the JSON-RPC id that the reply must carry; jsondiff.Absent when there is none, or none that can be known.
	id any
	// tool is the tool that is called, "" where the request is no readable tools/call.
	tool string
}

// mcp reports whether the request goes to the MCP endpoint.
func (r request) mcp() bool { return r.path == mcpPath }

// sender is what a client says about itself in every request.
type sender struct {
	profile string // the wire revision that requests are written in
	version string // the protocol version in the header: the profile, or what an older server agreed to
	session string // "" for none
}

// usualHeaders are those of a request to the MCP endpoint.
func (s sender) usualHeaders() http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Mcp-Protocol-Version", s.version)
	if s.session != "" {
		h.Set("Mcp-Session-Id", s.session)
	}
	return h
}

// build writes the request of a step. The id is used where the step does not bring its own.
func (s sender) build(step contract.Step, id int64) (request, error) {
	switch {
	case step.Call != nil:
		params := `{"name":` + jsondiff.Text(step.Call.Tool)
		if step.Call.Arguments != nil {
			params += `,"arguments":` + *step.Call.Arguments
		}
		params += "}"
		return s.message(contract.RPC{Method: "tools/call", Params: &params}, step.Call.Tool, id)
	case step.RPC != nil:
		return s.message(*step.RPC, routingName(*step.RPC), id)
	default:
		r := request{
			method:  step.HTTP.Method,
			path:    step.HTTP.Path,
			header:  s.usualHeaders(),
			body:    []byte(step.HTTP.Body),
			chunked: step.HTTP.Chunked,
		}
		r.id, r.tool = readBody(r.body)
		return r, override(r.header, step.HTTP.Headers)
	}
}

// message writes a JSON-RPC message by hand, so that what the vector gives as text is sent as that text.
func (s sender) message(rpc contract.RPC, name string, id int64) (request, error) {
	r := request{method: http.MethodPost, path: mcpPath, header: s.usualHeaders(), id: jsondiff.Absent{}}
	if rpc.Method == "tools/call" {
		r.tool = name
	}
	params := rpc.Params
	if s.profile == contract.Revision20260728 {
		params = withMeta(params)
		r.header.Set("Mcp-Method", rpc.Method)
		if name != "" {
			r.header.Set("Mcp-Name", headerValue(name))
		}
	}
	if rpc.Method == "initialize" {
		r.header.Del("Mcp-Protocol-Version") // nothing is negotiated yet
	}
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0",`)
	if !rpc.Notification {
		text := strconv.FormatInt(id, 10)
		if rpc.ID != nil {
			text = *rpc.ID
		}
		b.WriteString(`"id":` + text + `,`)
		if value, err := jsondiff.Parse([]byte(text)); err == nil {
			r.id = value
		}
	}
	b.WriteString(`"method":` + jsondiff.Text(rpc.Method))
	if params != nil {
		b.WriteString(`,"params":` + *params)
	}
	b.WriteString("}")
	r.body = []byte(b.String())
	return r, override(r.header, rpc.Headers)
}

// meta is what every request of revision 2026-07-28 says about its sender.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + contract.Revision20260728 + `",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"mcp-parity","version":"1.0.0"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// withMeta puts meta in front of the members of params, unless params is no object or brings its own.
func withMeta(params *string) *string {
	if params == nil {
		return new("{" + meta + "}")
	}
	rest, isObject := strings.CutPrefix(strings.TrimLeft(*params, " \t\r\n"), "{")
	if !isObject {
		return params
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(*params), &members); err == nil {
		if _, own := members["_meta"]; own {
			return params
		}
	}
	separator := ","
	if strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), "}") {
		separator = ""
	}
	return new("{" + meta + separator + rest)
}

// routingName is the value that revision 2026-07-28 wants in Mcp-Name.
func routingName(rpc contract.RPC) string {
	if rpc.Params == nil {
		return ""
	}
	var params struct{ Name, URI string }
	if err := json.Unmarshal([]byte(*rpc.Params), &params); err != nil {
		return "" // not a string: the header cannot be written either
	}
	switch rpc.Method {
	case "tools/call", "prompts/get":
		return params.Name
	case "resources/read":
		return params.URI
	}
	return ""
}

// headerValue encodes a text that is not plain ASCII the way that revision 2026-07-28 wants it in a header.
func headerValue(text string) string {
	plain := strings.TrimSpace(text) == text && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// readBody finds the id and the called tool in a body that a vector wrote in full.
func readBody(body []byte) (id any, tool string) {
	value, err := jsondiff.Parse(body)
	if err != nil {
		return jsondiff.Absent{}, ""
	}
	message, _ := value.(map[string]any)
	id, ok := message["id"]
	if !ok {
		id = jsondiff.Absent{}
	}
	if params, ok := message["params"].(map[string]any); ok && message["method"] == "tools/call" {
		tool, _ = params["name"].(string)
	}
	return id, tool
}

// override adds a vector's headers to the usual ones.
func override(header http.Header, changes map[string]*string) error {
	for name, value := range changes {
		switch key := http.CanonicalHeaderKey(name); {
		case key == "Content-Length" || key == "Transfer-Encoding" || key == "Connection":
			return fmt.Errorf("header %s cannot be set by a vector: the HTTP client writes it (use `chunked` for a body without a length)", key)
		case key == "Host" && value == nil:
			return fmt.Errorf("header Host cannot be removed: HTTP/1.1 needs it")
		case value == nil:
			header.Del(key)
		default:
			header.Set(key, *value)
		}
	}
	return nil
}
