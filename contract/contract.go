// Package contract holds what every server must do: the tool definitions, the vectors (a raw request and the answer it
// must get) and the list of known differences. It is data with types; the gate gives it its meaning.
package contract

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

//go:embed tools/*.json vectors/*.yaml known-differences.yaml
var files embed.FS

// Wire revisions of the protocol that the vectors are written for.
const (
	Revision20251125 = "2025-11-25"
	Revision20260728 = "2026-07-28"
)

// Tool is one tool definition, as tools/list must return it.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// Group is one file of vectors that belong together.
type Group struct {
	Group   string   `yaml:"group"`
	About   string   `yaml:"about"`
	Vectors []Vector `yaml:"vectors"`
}

// Vector is one exchange with a server, or a few in order, and the answers it must get. A vector of one exchange is
// written without `steps`.
type Vector struct {
	// Name is unique in its group; Load prefixes it with the group: "fibonacci/n-10".
	Name string `yaml:"name"`
	// Why says in one line what the vector is for.
	Why string `yaml:"why"`
	// Profiles are the wire revisions it is sent on. Default: all that the server declares, if every step is a tool
	// call; otherwise 2025-11-25 only.
	Profiles []string `yaml:"profiles"`
	// Sessions is "stateless" or "stateful" where the vector is about one of them; empty means both.
	Sessions string `yaml:"sessions"`
	// Session says which session the requests belong to on a stateful server: "shared" (default), "fresh" (one made
	// for this vector, because it ends it) or "none" (no session header; the default for initialize).
	Session string `yaml:"session"`
	// Upstream is "stopped" for a vector that runs after the upstream service was stopped.
	Upstream string `yaml:"upstream"`
	// Parallel is how many clients send the vector at the same moment, all with the same request id. Default 1.
	Parallel int `yaml:"parallel"`
	// MinMS is how long the answer must take at least, in milliseconds. With Parallel, all the answers together must
	// take less than Parallel times MinMS: a server that answers them one after the other fails.
	MinMS int `yaml:"min_ms"`

	Step  `yaml:",inline"`
	Steps []Step `yaml:"steps"`
}

// Step is one request and what is expected of its answer. Exactly one of Call, RPC and HTTP is set.
type Step struct {
	Call   *Call   `yaml:"call"`
	RPC    *RPC    `yaml:"rpc"`
	HTTP   *HTTP   `yaml:"http"`
	Expect *Expect `yaml:"expect"`
}

// Call is a tools/call request, written by the gate for each wire revision.
type Call struct {
	Tool string `yaml:"tool"`
	// Arguments is the JSON text of the `arguments` member, sent as written; nil leaves the member out.
	Arguments *string `yaml:"arguments"`
}

// RPC is any JSON-RPC request or notification to /mcp.
type RPC struct {
	Method string `yaml:"method"`
	// Params is the JSON text of the `params` member, sent as written; nil leaves the member out.
	Params *string `yaml:"params"`
	// ID is the JSON text of the request id, sent as written; nil lets the gate choose one.
	ID *string `yaml:"id"`
	// Notification leaves the id out.
	Notification bool `yaml:"notification"`
	// Headers are added to the usual ones; a null value removes a usual one.
	Headers map[string]*string `yaml:"headers"`
}

// HTTP is a raw HTTP request.
type HTTP struct {
	// Method defaults to POST.
	Method string `yaml:"method"`
	// Path defaults to /mcp.
	Path string `yaml:"path"`
	// Headers are added to the usual ones of an MCP request; a null value removes a usual one.
	Headers map[string]*string `yaml:"headers"`
	// Body is sent as written.
	Body string `yaml:"body"`
	// Chunked sends the body without announcing its length.
	Chunked bool `yaml:"chunked"`
}

// Expect is the answer that a step must get. Exactly one of the first group of members says what kind of answer it is.
type Expect struct {
	// Result is the JSON text that structuredContent must equal. The text block must equal it too.
	Result *string `yaml:"result"`
	// ToolError is the word that the text of an isError result must contain; "" for any text.
	ToolError *string `yaml:"tool_error"`
	// RPCError lists the JSON-RPC error codes that are right.
	RPCError []int `yaml:"rpc_error"`
	// BadRequest means HTTP 400 and, where the body is JSON, a JSON-RPC error −32700 or −32600.
	BadRequest bool `yaml:"bad_request"`
	// Reply is the JSON text that the whole `result` member must equal.
	Reply *string `yaml:"reply"`
	// Contains is JSON text whose members must be in the `result` member: objects may have more members than listed.
	Contains *string `yaml:"contains"`
	// Tools means that the `result` member must list the contract's tools, in order.
	Tools bool `yaml:"tools"`
	// HTTP means that only the status, the content type and the body below count.
	HTTP bool `yaml:"http"`
	// AnyOf lists answers of which one must fit, where the protocol leaves a choice.
	AnyOf []Expect `yaml:"any_of"`

	// Status lists the HTTP statuses that are right. Default: 400 for BadRequest, 200 for all others but HTTP.
	Status []int `yaml:"status"`
	// ContentType is the media type that the answer must have, without parameters; empty for any.
	ContentType string `yaml:"content_type"`
	// Body is the exact body of an HTTP answer.
	Body *string `yaml:"body"`
	// Headers are response headers that must be present ("*"), absent (null) or have this value.
	Headers map[string]*string `yaml:"headers"`
}

// KnownDifference is a difference from the contract that an SDK makes impossible to mend with a thin wrapper.
type KnownDifference struct {
	// Server is the name of the subject, with its variant where only that differs: "go", "java/stateful".
	Server string `yaml:"server"`
	// Vectors are names, or patterns as of path.Match.
	Vectors []string `yaml:"vectors"`
	// Profiles limits the entry to wire revisions; empty for all.
	Profiles []string `yaml:"profiles"`
	// Pointer limits the entry to one place in the answer; empty for any place.
	Pointer string `yaml:"pointer"`
	// Reason says what happens and why it cannot be mended.
	Reason string `yaml:"reason"`
	// Link is the upstream issue, or the place in the documentation or source.
	Link string `yaml:"link"`
}

// AllSteps returns the vector's steps, one or more.
func (v Vector) AllSteps() []Step {
	if len(v.Steps) > 0 {
		return v.Steps
	}
	return []Step{v.Step}
}

// ToolNames returns the tools that the vector calls, each once; empty if any step is not a tool call.
func (v Vector) ToolNames() []string {
	var names []string
	for _, s := range v.AllSteps() {
		if s.Call == nil {
			return nil
		}
		if !slices.Contains(names, s.Call.Tool) {
			names = append(names, s.Call.Tool)
		}
	}
	return names
}

// Tools returns the tool definitions, sorted by name.
func Tools() ([]Tool, error) {
	names, err := fs.Glob(files, "tools/*.json")
	if err != nil {
		return nil, err
	}
	tools := make([]Tool, 0, len(names))
	for _, name := range names { // sorted by Glob, and each file is named after its tool
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		var tool Tool
		if err := dec.Decode(&tool); err != nil {
			return nil, fmt.Errorf("contract/%s: %w", name, err)
		}
		if want := strings.TrimSuffix(path.Base(name), ".json"); tool.Name != want {
			return nil, fmt.Errorf("contract/%s: the tool is named %q, wanted %q as the file", name, tool.Name, want)
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// Vectors returns the contract's own vectors, ready to send.
func Vectors() ([]Vector, error) {
	names, err := fs.Glob(files, "vectors/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Vector
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		vectors, err := ParseVectors("contract/"+name, text)
		if err != nil {
			return nil, err
		}
		all = append(all, vectors...)
	}
	return all, nil
}

// KnownDifferences returns the list in known-differences.yaml.
func KnownDifferences() ([]KnownDifference, error) {
	const name = "known-differences.yaml"
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var list struct {
		Differences []KnownDifference `yaml:"differences"`
	}
	f, err := yamlfile.Decode("contract/"+name, text, &list)
	if err != nil {
		return nil, err
	}
	for i, d := range list.Differences {
		entry := fmt.Sprintf("differences[%d]", i)
		if d.Server == "" || len(d.Vectors) == 0 || d.Reason == "" || d.Link == "" {
			return nil, fmt.Errorf("%s: needs server, vectors, reason and link", f.At(entry))
		}
		for _, pattern := range d.Vectors {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("%s: pattern %q: %w", f.At(entry+".vectors"), pattern, err)
			}
		}
	}
	return list.Differences, nil
}

// ParseVectors reads one file of vectors, expands its templates and checks it. The name is used in errors only, which say on which line the
// vector begins.
func ParseVectors(name string, text []byte) ([]Vector, error) {
	var group Group
	f, err := yamlfile.Decode(name, text, &group)
	if err != nil {
		return nil, err
	}
	if group.Group == "" {
		return nil, fmt.Errorf("%s: `group` is missing: give the group of vectors a name", f.At("group"))
	}
	if len(group.Vectors) == 0 {
		return nil, fmt.Errorf("%s: `vectors` is empty", f.At("vectors"))
	}
	seen := map[string]bool{}
	for i := range group.Vectors {
		v := &group.Vectors[i]
		at := f.At(fmt.Sprintf("vectors[%d]", i))
		short := v.Name
		v.Name = group.Group + "/" + short
		if err := v.prepare(short); err != nil {
			return nil, fmt.Errorf("%s: vector %s: %w", at, v.Name, err)
		}
		if seen[v.Name] {
			return nil, fmt.Errorf("%s: the name %s is taken; names are unique in a group", at, v.Name)
		}
		seen[v.Name] = true
	}
	return group.Vectors, nil
}

var shortName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// prepare fills in defaults, expands templates and checks one vector.
func (v *Vector) prepare(short string) error {
	switch {
	case !shortName.MatchString(short):
		return fmt.Errorf("`name` %q: use lower-case letters, digits, dots and hyphens", short)
	case v.Why == "":
		return errors.New("`why` is missing: say in one line what the vector is for")
	case len(v.Steps) > 0 && v.Step != (Step{}):
		return errors.New("has `steps` and a request of its own: use one of them")
	case !slices.Contains([]string{"", "stateless", "stateful"}, v.Sessions):
		return fmt.Errorf("`sessions` is %q: use stateless or stateful, or leave it out", v.Sessions)
	case !slices.Contains([]string{"", "shared", "fresh", "none"}, v.Session):
		return fmt.Errorf("`session` is %q: use shared, fresh or none", v.Session)
	case !slices.Contains([]string{"", "stopped"}, v.Upstream):
		return fmt.Errorf("`upstream` is %q: use stopped, or leave it out", v.Upstream)
	case v.Parallel < 0 || v.Parallel > 100:
		return fmt.Errorf("`parallel` is %d: use 1 to 100", v.Parallel)
	}
	if v.Parallel == 0 {
		v.Parallel = 1
	}
	steps := v.AllSteps()
	calls := true
	for i := range steps {
		if err := steps[i].prepare(); err != nil {
			if len(v.Steps) > 0 {
				return fmt.Errorf("step %d: %w", i+1, err)
			}
			return err
		}
		calls = calls && steps[i].Call != nil
	}
	if len(v.Profiles) == 0 && !calls {
		v.Profiles = []string{Revision20251125}
	}
	return nil
}

func (s Step) prepare() error {
	requests := 0
	var texts []*string
	if s.Call != nil {
		requests++
		if s.Call.Tool == "" {
			return errors.New("`call.tool` is missing")
		}
		texts = append(texts, s.Call.Arguments)
	}
	if s.RPC != nil {
		requests++
		if s.RPC.Method == "" {
			return errors.New("`rpc.method` is missing; for a message without one use `http`")
		}
		texts = append(texts, s.RPC.Params, s.RPC.ID)
	}
	if s.HTTP != nil {
		requests++
		if s.HTTP.Method == "" {
			s.HTTP.Method = "POST"
		}
		if s.HTTP.Path == "" {
			s.HTTP.Path = "/mcp"
		}
		texts = append(texts, &s.HTTP.Body)
	}
	if requests != 1 {
		return fmt.Errorf("has %d requests: give exactly one of `call`, `rpc` and `http`", requests)
	}
	if s.Expect == nil {
		return errors.New("`expect` is missing")
	}
	for _, text := range texts {
		if err := expand(text); err != nil {
			return err
		}
	}
	return s.Expect.prepare()
}

func (e *Expect) prepare() error {
	kinds := 0
	for _, set := range []bool{
		e.Result != nil, e.ToolError != nil, len(e.RPCError) > 0, e.BadRequest, e.Reply != nil, e.Contains != nil, e.Tools, e.HTTP, len(e.AnyOf) > 0,
	} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("`expect` has %d kinds of answer: give exactly one of result, tool_error, rpc_error, bad_request, reply, contains, tools, http, any_of", kinds)
	}
	if e.Body != nil && !e.HTTP {
		return errors.New("`expect.body` goes with `http: true`")
	}
	for i := range e.AnyOf {
		if err := e.AnyOf[i].prepare(); err != nil {
			return fmt.Errorf("any_of %d: %w", i+1, err)
		}
	}
	if len(e.Status) == 0 && !e.HTTP && len(e.AnyOf) == 0 {
		e.Status = []int{200}
		if e.BadRequest {
			e.Status = []int{400}
		}
	}
	for _, text := range []*string{e.Result, e.Reply, e.Contains} {
		if err := expand(text); err != nil {
			return err
		}
		if text != nil && !json.Valid([]byte(*text)) {
			return fmt.Errorf("the expected answer is not JSON: %.80s", *text)
		}
	}
	return nil
}

// functions are what a template in a vector may call, so that large and deep values need not be written out.
var functions = template.FuncMap{
	"repeat": strings.Repeat,
	"seq": func(n int) []int { // 0 to n−1
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	},
	"mul": func(a, b int) int { return a * b },
	"mod": func(a, b int) int { return a % b },
}

// expand replaces {{…}} in the text, in place.
func expand(text *string) error {
	if text == nil || !strings.Contains(*text, "{{") {
		return nil
	}
	t, err := template.New("vector").Funcs(functions).Parse(*text)
	if err != nil {
		return fmt.Errorf("template in %.80q: %w", *text, err)
	}
	var out strings.Builder
	if err := t.Execute(&out, nil); err != nil {
		return fmt.Errorf("template in %.80q: %w", *text, err)
	}
	*text = out.String()
	return nil
}
