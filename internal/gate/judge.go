package gate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/jsondiff"
)

// judge holds what answers are compared with.
type judge struct {
	tools   []map[string]any // the contract's definitions, in order
	outputs map[string]*jsonschema.Schema
}

func newJudge(tools []contract.Tool) (*judge, error) {
	j := &judge{outputs: map[string]*jsonschema.Schema{}}
	for _, tool := range tools {
		text, err := json.Marshal(tool)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", tool.Name, err)
		}
		definition, err := jsondiff.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", tool.Name, err)
		}
		object := definition.(map[string]any) // contract.Tool is a struct
		j.tools = append(j.tools, object)
		compiler := jsonschema.NewCompiler()
		location := "tool:" + tool.Name
		if err := compiler.AddResource(location, object["outputSchema"]); err != nil {
			return nil, fmt.Errorf("tool %s: outputSchema: %w", tool.Name, err)
		}
		schema, err := compiler.Compile(location)
		if err != nil {
			return nil, fmt.Errorf("tool %s: outputSchema: %w", tool.Name, err)
		}
		j.outputs[tool.Name] = schema
	}
	return j, nil
}

// findings collects the differences of one answer.
type findings []Difference

func (f *findings) add(aspect Aspect, pointer, want, got string) {
	*f = append(*f, Difference{Aspect: aspect, Pointer: pointer, Want: want, Got: got})
}

// values adds the differences of two values, which stand at the pointer.
func (f *findings) values(aspect Aspect, pointer string, differences []jsondiff.Difference) {
	for _, d := range differences {
		want, got := d.Texts()
		f.add(aspect, pointer+d.Pointer, want, got)
	}
}

// step compares one answer with what is expected of it.
func (j *judge) step(e *contract.Expect, req request, r reply) findings {
	if len(e.AnyOf) > 0 {
		return j.anyOf(e.AnyOf, req, r)
	}
	var f findings
	if len(e.Status) > 0 && !slices.Contains(e.Status, r.status) {
		f.add(AspectStatus, "", oneOf(e.Status), strconv.Itoa(r.status))
	}
	if e.ContentType != "" && r.mediaType() != e.ContentType {
		f.add(AspectHeaders, "/Content-Type", e.ContentType, orAbsent(r.mediaType()))
	}
	f.headers(e.Headers, r.header)
	switch {
	case e.HTTP:
		if e.Body != nil && string(r.body) != *e.Body {
			want, got := jsondiff.Around(strconv.Quote(*e.Body), strconv.Quote(string(r.body)))
			f.add(AspectBody, "", want, got)
		}
	case e.BadRequest:
		f.badRequest(r)
	default:
		j.message(&f, e, req, r)
	}
	return f
}

// anyOf passes what one of the alternatives passes; otherwise the differences are those from the alternative of the same
// kind, or that the answer is of no kind that is allowed.
func (j *judge) anyOf(alternatives []contract.Expect, req request, r reply) findings {
	var closest findings
	kinds := make([]string, len(alternatives))
	for i := range alternatives {
		f := j.step(&alternatives[i], req, r)
		if len(f) == 0 {
			return nil
		}
		otherKind := slices.ContainsFunc(f, func(d Difference) bool { return d.Aspect == AspectClass || d.Aspect == AspectStatus })
		if !otherKind && closest == nil {
			closest = f
		}
		kinds[i] = expectation(&alternatives[i])
	}
	if closest == nil {
		closest.add(AspectClass, "", strings.Join(kinds, " or "), r.describe())
	}
	return closest
}

func (f *findings) headers(wanted map[string]*string, header http.Header) {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		want, values := wanted[name], header.Values(name)
		pointer := "/" + jsondiff.Escape(name)
		switch {
		case want == nil && len(values) > 0:
			f.add(AspectHeaders, pointer, "absent", header.Get(name))
		case want != nil && *want == "*" && header.Get(name) == "":
			f.add(AspectHeaders, pointer, "any value", "absent")
		case want != nil && *want != "*" && header.Get(name) != *want:
			f.add(AspectHeaders, pointer, *want, orAbsent(header.Get(name)))
		}
	}
}

// badRequest checks the body of an answer to a malformed request: free, unless it is JSON.
func (f *findings) badRequest(r reply) {
	if r.mediaType() != "application/json" && !r.stream {
		return
	}
	if r.class != classProtocolError {
		f.add(AspectClass, "", "protocol error -32700 or -32600, or a body that is not JSON", r.describe())
		return
	}
	f.code([]int{-32700, -32600}, r)
}

// code checks that the error has one of the codes, as an integer.
func (f *findings) code(codes []int, r reply) {
	if !slices.ContainsFunc(codes, func(code int) bool { return r.code() == strconv.Itoa(code) }) {
		f.add(AspectCode, "/error/code", oneOf(codes), r.code())
	}
	e, _ := r.message["error"].(map[string]any)
	if _, ok := e["message"].(string); !ok {
		f.add(AspectMessage, "/error/message", "a string", jsondiff.Text(member(e, "message")))
	}
}

// message checks a JSON-RPC response.
func (j *judge) message(f *findings, e *contract.Expect, req request, r reply) {
	want := classResult
	switch {
	case e.ToolError != nil:
		want = classToolError
	case len(e.RPCError) > 0:
		want = classProtocolError
	}
	if r.class != want {
		aspect := AspectClass
		if r.problem != "" {
			aspect = AspectBody
		}
		f.add(aspect, "", expectation(e), r.describe())
		return
	}
	f.envelope(req, r)
	if want == classProtocolError {
		f.code(e.RPCError, r)
		return
	}
	if req.mcp() {
		f.nulls("", r.message["result"])
	}
	switch {
	case e.Result != nil:
		j.toolResult(f, *e.Result, req.tool, r.result())
	case e.ToolError != nil:
		f.toolError(*e.ToolError, r.result())
	case e.Tools:
		j.toolList(f, r.message["result"])
	case e.Contains != nil:
		f.values(AspectResult, "", jsondiff.Contains(mustParse(*e.Contains), r.message["result"]))
	case e.Reply != nil:
		got := r.message["result"]
		if req.mcp() {
			got = normalise(got, "/result")
		}
		f.values(AspectResult, "", jsondiff.Compare(mustParse(*e.Reply), got))
	}
}

// envelope checks what stands around the result or error.
func (f *findings) envelope(req request, r reply) {
	if r.message["jsonrpc"] != "2.0" {
		f.add(AspectMessage, "/jsonrpc", `"2.0"`, jsondiff.Text(member(r.message, "jsonrpc")))
	}
	body := "result"
	if r.class == classProtocolError {
		body = "error"
	}
	for _, name := range slices.Sorted(maps.Keys(r.message)) {
		if !slices.Contains([]string{"jsonrpc", "id", body}, name) {
			f.add(AspectMessage, "/"+jsondiff.Escape(name), "absent", jsondiff.Shorten(jsondiff.Text(r.message[name])))
		}
	}
	if media := r.mediaType(); media != "application/json" && media != "text/event-stream" {
		f.add(AspectHeaders, "/Content-Type", "application/json or text/event-stream", orAbsent(media))
	}
	if _, none := req.id.(jsondiff.Absent); none {
		return // the vector's body has no id that could be read
	}
	got := member(r.message, "id")
	// A request that is refused before it is understood may be answered without its id.
	if _, absent := got.(jsondiff.Absent); r.status != http.StatusOK && (absent || got == nil) {
		return
	}
	if !jsondiff.Equal(req.id, got) {
		f.add(AspectID, "/id", jsondiff.Text(req.id), jsondiff.Shorten(jsondiff.Text(got)))
	}
}

// nulls reports members that are null where the protocol has optional ones: strict clients refuse them. Values that are
// the tool's or the schema's own business may be null.
func (f *findings) nulls(pointer string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := pointer + "/" + jsondiff.Escape(name)
			switch {
			case v[name] == nil:
				f.add(AspectResult, at, "absent", "null")
			case slices.Contains([]string{"structuredContent", "_meta", "inputSchema", "outputSchema"}, name):
			default:
				f.nulls(at, v[name])
			}
		}
	case []any:
		for i, element := range v {
			f.nulls(pointer+"/"+strconv.Itoa(i), element)
		}
	}
}

// toolResult checks a successful call.
func (j *judge) toolResult(f *findings, want, tool string, result map[string]any) {
	if isError := member(result, "isError"); isError != (jsondiff.Absent{}) && isError != false && isError != nil { // null was reported
		f.add(AspectResult, "/isError", "absent or false", jsondiff.Text(isError))
	}
	structured := member(result, "structuredContent")
	f.values(AspectStructured, "", jsondiff.Compare(mustParse(want), structured))
	if _, absent := structured.(jsondiff.Absent); absent {
		return // said already, and nothing is left to compare
	}
	if schema := j.outputs[tool]; schema != nil {
		f.schema(schema, structured)
	}
	text, ok := f.onlyText(result)
	if !ok {
		return
	}
	value, err := jsondiff.Parse([]byte(text))
	if err != nil {
		f.add(AspectContent, "/0/text", "JSON equal to structuredContent", jsondiff.Shorten(strconv.Quote(text))+": "+err.Error())
		return
	}
	f.values(AspectContent, "/0/text", jsondiff.Compare(structured, value))
	if !jsondiff.Compact(text) {
		f.add(AspectContent, "/0/text", "JSON without white space between tokens", jsondiff.Shorten(strconv.Quote(text)))
	}
}

// schema validates a structured result independently of what the server's SDK makes of the schema.
func (f *findings) schema(schema *jsonschema.Schema, value any) {
	err := schema.Validate(value)
	if err == nil {
		return
	}
	invalid, ok := err.(*jsonschema.ValidationError)
	if !ok {
		f.add(AspectSchema, "", "a value that satisfies outputSchema", err.Error())
		return
	}
	for _, v := range jsondiff.Violations(invalid) {
		f.add(AspectSchema, v.Pointer, "a value that satisfies outputSchema's "+v.Keyword, v.Text)
	}
}

// onlyText returns the text of the only content block.
func (f *findings) onlyText(result map[string]any) (string, bool) {
	content, ok := member(result, "content").([]any)
	if !ok || len(content) != 1 {
		got := jsondiff.Shorten(jsondiff.Text(member(result, "content")))
		if ok {
			got = fmt.Sprintf("%d blocks: %s", len(content), got)
		}
		f.add(AspectContent, "", "exactly one block", got)
		return "", false
	}
	block, _ := content[0].(map[string]any)
	if block["type"] != "text" {
		f.add(AspectContent, "/0/type", `"text"`, jsondiff.Text(member(block, "type")))
		return "", false
	}
	text, ok := block["text"].(string)
	if !ok {
		f.add(AspectContent, "/0/text", "a string", jsondiff.Text(member(block, "text")))
	}
	return text, ok
}

// toolError checks the answer to a call that failed.
func (f *findings) toolError(word string, result map[string]any) {
	if structured, ok := result["structuredContent"]; ok && structured != nil { // null was reported
		f.add(AspectStructured, "", "absent", jsondiff.Shorten(jsondiff.Text(structured)))
	}
	text, ok := f.onlyText(result)
	if !ok {
		return
	}
	if text == "" {
		f.add(AspectContent, "/0/text", "a text that says what is wrong", `""`)
	}
	if word != "" && !containsWord(text, word) {
		f.add(AspectContent, "/0/text", "the word "+strconv.Quote(word), jsondiff.Shorten(strconv.Quote(text)))
	}
}

// containsWord reports whether the word stands in the text without a letter, digit or underscore next to it.
func containsWord(text, word string) bool {
	return regexp.MustCompile(`(^|[^\pL\pN_])` + regexp.QuoteMeta(word) + `([^\pL\pN_]|$)`).MatchString(text)
}

// toolList checks a list of tools against the contract.
func (j *judge) toolList(f *findings, result any) {
	object, _ := result.(map[string]any)
	if cursor, ok := object["nextCursor"]; ok && cursor != nil { // null was reported
		f.add(AspectResult, "/nextCursor", "absent: all tools on one page", jsondiff.Text(cursor))
	}
	list, ok := normalise(object, "/result").(map[string]any)["tools"].([]any)
	if !ok {
		f.add(AspectResult, "/tools", "an array", jsondiff.Shorten(jsondiff.Text(member(object, "tools"))))
		return
	}
	tools := make([]map[string]any, len(list))
	for i, value := range list {
		tools[i], _ = value.(map[string]any) // a value of another type is a tool without a name
	}
	f.toolLists(j.tools, tools)
}

// toolLists compares tools by name, so that a missing one does not make all others differ.
func (f *findings) toolLists(want, got []map[string]any) {
	wantNames, gotNames := make([]any, len(want)), make([]any, len(got))
	index := map[any]int{}
	for i, tool := range got {
		gotNames[i] = tool["name"]
		if name, ok := tool["name"].(string); ok {
			index[name] = i
		}
	}
	for i, tool := range want {
		wantNames[i] = tool["name"]
		if at, ok := index[tool["name"]]; ok {
			f.values(AspectResult, "/tools/"+strconv.Itoa(at), jsondiff.Compare(tool, got[at]))
		}
	}
	if !jsondiff.Equal(wantNames, gotNames) {
		f.add(AspectResult, "/tools", jsondiff.Text(wantNames), jsondiff.Text(gotNames))
	}
}

// expectation names the kind of answer that is wanted.
func expectation(e *contract.Expect) string {
	switch {
	case e.Result != nil:
		return "result " + jsondiff.Shorten(*e.Result)
	case e.ToolError != nil && *e.ToolError != "":
		return "tool error that names " + *e.ToolError
	case e.ToolError != nil:
		return "tool error"
	case len(e.RPCError) > 0:
		return "protocol error " + oneOf(e.RPCError)
	case e.BadRequest:
		return "HTTP 400"
	case e.Reply != nil:
		return "result " + jsondiff.Shorten(*e.Reply)
	case e.Contains != nil:
		return "result with " + jsondiff.Shorten(*e.Contains)
	case e.Tools:
		return "result with the contract's tools"
	}
	return "HTTP " + oneOf(e.Status)
}

func oneOf(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, " or ")
}

func orAbsent(text string) string { return cmp.Or(text, "absent") }

func member(object map[string]any, name string) any {
	if value, ok := object[name]; ok {
		return value
	}
	return jsondiff.Absent{}
}

// mustParse parses an expected answer, which was checked before anything was sent.
func mustParse(text string) any {
	value, err := jsondiff.Parse([]byte(text))
	if err != nil {
		panic("gate: an expected answer was not checked: " + err.Error())
	}
	return value
}
