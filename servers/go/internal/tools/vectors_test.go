package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-parity/mcp-parity/servers/go/internal/contract"
)

const repository = "../../../.."

// vector is the part of a contract vector that is about tools; the gate tests
// the rest over HTTP.
type vector struct {
	Name     string `yaml:"name"`
	Upstream string `yaml:"upstream"`
	MinMS    int    `yaml:"min_ms"`
	Step     `yaml:",inline"`
	Steps    []Step `yaml:"steps"`
}

type Step struct {
	Call *struct {
		Tool      string  `yaml:"tool"`
		Arguments *string `yaml:"arguments"`
	} `yaml:"call"`
	Expect expectation `yaml:"expect"`
}

type expectation struct {
	Result    *string       `yaml:"result"`
	ToolError *string       `yaml:"tool_error"`
	RPCError  []int64       `yaml:"rpc_error"`
	AnyOf     []expectation `yaml:"any_of"`
	// What HTTP may say, and a function cannot.
	BadRequest bool `yaml:"bad_request"`
	HTTP       bool `yaml:"http"`
}

// TestCallVectors runs every vector that only calls tools against the tools
// themselves, with the project's own upstream service.
func TestCallVectors(t *testing.T) {
	running, stopped := NewUpstream(startUpstream(t)), NewUpstream("http://"+freeAddress(t))
	t.Cleanup(running.Close)
	definitions, err := contract.Tools()
	if err != nil {
		t.Fatal(err)
	}

	ran := 0
	for _, v := range readVectors(t) {
		steps := v.Steps
		if len(steps) == 0 {
			steps = []Step{v.Step}
		}
		if slices.ContainsFunc(steps, func(s Step) bool { return s.Call == nil || s.Expect.HTTP }) {
			continue // about HTTP or JSON-RPC, which the gate tests
		}
		ran++
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			upstream := running
			if v.Upstream == "stopped" {
				upstream = stopped
			}
			for _, s := range steps {
				f, ok := functions(upstream)[s.Call.Tool]
				if !ok {
					t.Fatalf("no tool %s", s.Call.Tool)
				}
				params := &mcp.CallToolParamsRaw{Name: s.Call.Tool}
				if s.Call.Arguments != nil {
					params.Arguments = json.RawMessage(expand(t, *s.Call.Arguments))
				}
				start := time.Now()
				result, err := handler(f)(t.Context(), &mcp.CallToolRequest{Params: params})
				if took := time.Since(start); took < time.Duration(v.MinMS)*time.Millisecond {
					t.Errorf("took %v, wanted at least %d ms", took, v.MinMS)
				}
				if problem := s.Expect.check(t, result, err, definitions[s.Call.Tool]); problem != "" {
					t.Error(problem)
				}
			}
		})
	}
	if ran < 100 {
		t.Errorf("only %d vectors were about tools; were they moved?", ran)
	}
}

// check returns what is wrong with an answer, or "".
func (e expectation) check(t *testing.T, result *mcp.CallToolResult, err error, tool *mcp.Tool) string {
	t.Helper()
	switch {
	case len(e.AnyOf) > 0:
		var problems []string
		for _, one := range e.AnyOf {
			problem := one.check(t, result, err, tool)
			if problem == "" {
				return ""
			}
			problems = append(problems, problem)
		}
		return strings.Join(problems, "; ")
	case len(e.RPCError) > 0:
		rpcError, ok := err.(*jsonrpc.Error)
		if !ok || !slices.Contains(e.RPCError, rpcError.Code) {
			return "wanted one of the protocol errors " + string(mustJSON(t, e.RPCError)) + ", got " + string(mustJSON(t, result))
		}
		return ""
	case e.BadRequest:
		return "wanted a refusal over HTTP"
	case err != nil:
		return "got the protocol error " + err.Error()
	}

	if len(result.Content) != 1 {
		return "wanted one content block, got " + string(mustJSON(t, result.Content))
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if e.ToolError != nil {
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(*e.ToolError) + `\b`)
		if !result.IsError || result.StructuredContent != nil || (*e.ToolError != "" && !word.MatchString(text)) {
			return "wanted a tool error with the word " + *e.ToolError + ", got " + string(mustJSON(t, result))
		}
		return ""
	}
	if e.Result == nil {
		return "the vector expects nothing that this test knows"
	}
	if result.IsError {
		return "got the tool error " + text
	}
	structured := mustJSON(t, result.StructuredContent)
	want := decode(t, []byte(expand(t, *e.Result)))
	// Not cmp.Diff: its time doubles with each level of nesting.
	if !reflect.DeepEqual(decode(t, structured), want) {
		return fmt.Sprintf("structuredContent: wanted %.1000s, got %.1000s", *e.Result, structured)
	}
	if !reflect.DeepEqual(decode(t, []byte(text)), want) {
		return fmt.Sprintf("text: wanted %.1000s, got %.1000s", *e.Result, text)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil || compact.String() != text {
		return "the text is not compact JSON"
	}
	if err := schema(t, tool.OutputSchema).Validate(decode(t, structured)); err != nil {
		return "structuredContent does not satisfy the outputSchema: " + err.Error()
	}
	return ""
}

// TestInputSchema compares the limits in the code with those in the schemas:
// for each value, tool and schema must agree on whether it is right.
func TestInputSchema(t *testing.T) {
	definitions, err := contract.Tools()
	if err != nil {
		t.Fatal(err)
	}
	integers := []string{"-1", "0", "1", "-0.0", "1e0", "0.5", "31", "32", "32.0", "33", "999", "1000", "1001", "4999", "5e3", "5001", `"1"`, "true", "null", "[]", "{}"}
	texts := []string{`""`, `"q"`, `"/a"`, `"/a\n"`, `"a/b"`, `"//a"`, `"/é"`, "1", "null", `["/a"]`, `{"a":1}`}
	for _, n := range []int{8, 9} {
		texts = append(texts, `"`+strings.Repeat("/a", n)+`"`)
	}
	for _, n := range []int{64, 65, 999, 1000, 1001} {
		texts = append(texts, `"/`+strings.Repeat("a", n)+`"`, `"`+strings.Repeat("😀", n)+`"`)
	}
	cases := map[string][]string{
		"calculate_fibonacci": {`{}`, `{"n":1,"m":1}`},
		"fetch_external_data": {`{}`, `{"endpoint":"/a","x":1}`},
		"process_json_data":   {`{}`, `{"data":{},"x":1}`, `{"data":[]}`, `{"data":null}`, `{"data":"{}"}`, `{"data":{"a":1}}`},
		"simulate_db_query":   {`{}`, `{"query":"q"}`, `{"query":"q","x":1}`},
	}
	for _, v := range integers {
		cases["calculate_fibonacci"] = append(cases["calculate_fibonacci"], `{"n":`+v+`}`)
		cases["simulate_db_query"] = append(cases["simulate_db_query"], `{"query":"q","rows":`+v+`}`, `{"query":"q","delay_ms":`+v+`}`)
	}
	for _, v := range texts {
		cases["fetch_external_data"] = append(cases["fetch_external_data"], `{"endpoint":`+v+`}`)
		cases["simulate_db_query"] = append(cases["simulate_db_query"], `{"query":`+v+`}`)
	}

	// The calls are cut off at once, since only their arguments matter.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for tool, f := range functions(NewUpstream("http://" + freeAddress(t))) {
		inputSchema := schema(t, definitions[tool].InputSchema)
		for _, text := range cases[tool] {
			args, err := parseArguments([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			_, err = f(ctx, args)
			accepted := err == nil || !strings.HasPrefix(err.Error(), "wrong arguments: ")
			if valid := inputSchema.Validate(decode(t, []byte(text))) == nil; valid != accepted {
				t.Errorf("%s %.100s: valid by the schema: %v, accepted by the tool: %v", tool, text, valid, accepted)
			}
		}
	}
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	paths, err := filepath.Glob(repository + "/contract/vectors/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	var all []vector
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var group struct {
			Group   string   `yaml:"group"`
			Vectors []vector `yaml:"vectors"`
		}
		if err := yaml.Unmarshal(text, &group); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, v := range group.Vectors {
			v.Name = group.Group + "/" + v.Name
			all = append(all, v)
		}
	}
	return all
}

// expand fills in the templates that stand for large values.
func expand(t *testing.T, text string) string {
	t.Helper()
	parsed, err := template.New("vector").Funcs(template.FuncMap{
		"repeat": strings.Repeat,
		"seq": func(n int) []int { // 0 to n-1
			out := make([]int, n)
			for i := range out {
				out[i] = i
			}
			return out
		},
		"mul": func(a, b int) int { return a * b },
		"mod": func(a, b int) int { return a % b },
	}).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := parsed.Execute(&out, nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%.100s: %v", text, err)
	}
	return v
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func schema(t *testing.T, raw any) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(raw.(json.RawMessage), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// startUpstream builds and starts cmd/upstream and returns its URL.
func startUpstream(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "upstream")
	build := exec.Command("go", "build", "-o", program, "./cmd/upstream")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building cmd/upstream: %v\n%s", err, out)
	}
	address := freeAddress(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	service := exec.Command(program)
	service.Env = append(os.Environ(), "HOST="+host, "PORT="+port)
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = service.Process.Kill() // it may have ended by itself
		_ = service.Wait()         // killed, which is no failure
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get("http://" + address + "/healthz")
		if err == nil {
			resp.Body.Close()
			return "http://" + address
		}
		if time.Now().After(deadline) {
			t.Fatalf("cmd/upstream does not answer: %v", err)
		}
	}
}

// freeAddress is a loopback address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
