// Package oracle computes what a server must answer: the semantics of contract/README.md a second time, independent of
// every reference server. It gives random vectors their expected answers and proves the written ones.
package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxNumber is the largest magnitude that every language returns unchanged: 2^53−1.
const maxNumber = 1<<53 - 1

const (
	maxDepth = 64
	maxBody  = 1 << 20 // bytes of an upstream answer
)

// ErrUnknownTool means that the contract has no such tool.
var ErrUnknownTool = errors.New("unknown tool")

// ToolError is an answer with isError: true.
type ToolError struct {
	// Argument is the name of the argument that is wrong; empty when the tool itself failed.
	Argument string
	Reason   string
}

func (e *ToolError) Error() string {
	if e.Argument == "" {
		return e.Reason
	}
	return fmt.Sprintf("argument %q: %s", e.Argument, e.Reason)
}

// Oracle answers tool calls.
type Oracle struct {
	// Upstream answers what fetch_external_data asks for.
	Upstream http.Handler
}

// Call returns the structuredContent of a successful call, a *ToolError, ErrUnknownTool, or another error for a malformed call.
// Arguments are the JSON text of the `arguments` member; nil stands for an absent one. Waits of simulate_db_query are left
// out.
func (o Oracle) Call(tool string, arguments json.RawMessage) (json.RawMessage, error) {
	call, ok := map[string]func(object) (any, error){
		"calculate_fibonacci": fibonacci,
		"fetch_external_data": o.fetch,
		"process_json_data":   process,
		"simulate_db_query":   query,
	}[tool]
	if !ok {
		return nil, ErrUnknownTool
	}
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	if !wellFormed(arguments) {
		return nil, &ToolError{Reason: "the arguments hold a lone surrogate"}
	}
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.UseNumber()
	var args object
	if err := dec.Decode(&args); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	if args == nil { // null, which Decode takes for a nil map
		return nil, errors.New("arguments: null is not an object")
	}
	answer, err := call(args)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

type object = map[string]any

// only refuses arguments that the tool does not have.
func only(args object, names ...string) error {
	for name := range args {
		if !slices.Contains(names, name) {
			return &ToolError{name, "is not an argument of this tool"}
		}
	}
	return nil
}

// integer returns the integer argument, or the default when it is absent; a negative default means that it is required.
func integer(args object, name string, low, high, absent int) (int, error) {
	value, ok := args[name]
	if !ok {
		if absent < 0 {
			return 0, &ToolError{name, "is required"}
		}
		return absent, nil
	}
	number, ok := value.(json.Number)
	if !ok {
		return 0, &ToolError{name, "must be an integer"}
	}
	// Out of float64's range, ParseFloat returns an infinity, which is out of every other range too.
	f, _ := strconv.ParseFloat(number.String(), 64)
	if f != math.Trunc(f) || f < float64(low) || f > float64(high) {
		return 0, &ToolError{name, fmt.Sprintf("must be an integer from %d to %d", low, high)}
	}
	return int(f), nil
}

func text(args object, name string) (string, error) {
	value, ok := args[name]
	if !ok {
		return "", &ToolError{name, "is required"}
	}
	s, ok := value.(string)
	if !ok {
		return "", &ToolError{name, "must be a string"}
	}
	return s, nil
}

func fibonacci(args object) (any, error) {
	if err := only(args, "n"); err != nil {
		return nil, err
	}
	n, err := integer(args, "n", 0, 32, -1)
	if err != nil {
		return nil, err
	}
	return object{"n": n, "result": fib(n)}, nil
}

// fib need not cost what the servers' recursion must cost.
func fib(n int) int {
	a, b := 0, 1
	for range n {
		a, b = b, a+b
	}
	return a
}

var endpointPattern = regexp.MustCompile(`\A(/[A-Za-z0-9_-]{1,64}){1,8}\z`)

func (o Oracle) fetch(args object) (any, error) {
	if err := only(args, "endpoint"); err != nil {
		return nil, err
	}
	endpoint, err := text(args, "endpoint")
	if err != nil {
		return nil, err
	}
	if !endpointPattern.MatchString(endpoint) {
		return nil, &ToolError{"endpoint", "does not match the pattern"}
	}
	answer := httptest.NewRecorder()
	o.Upstream.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, endpoint, nil))
	if answer.Body.Len() > maxBody || !json.Valid(answer.Body.Bytes()) {
		return nil, &ToolError{Reason: "the upstream's answer is too large or not JSON"}
	}
	return object{"endpoint": endpoint, "status": answer.Code, "body": json.RawMessage(answer.Body.Bytes())}, nil
}

func process(args object) (any, error) {
	if err := only(args, "data"); err != nil {
		return nil, err
	}
	value, ok := args["data"]
	if !ok {
		return nil, &ToolError{"data", "is required"}
	}
	data, ok := value.(object)
	if !ok {
		return nil, &ToolError{"data", "must be an object"}
	}
	keys := make([]string, 0, len(data))
	for key := range data {
		keys = append(keys, key)
	}
	slices.Sort(keys) // bytewise on UTF-8, which is code point order
	w := walker{counts: map[string]int{"objects": 0, "arrays": 0, "strings": 0, "numbers": 0, "booleans": 0, "nulls": 0}}
	copied, err := w.walk(data, 0)
	if err != nil {
		return nil, err
	}
	return object{"keys": keys, "data": copied, "counts": w.counts, "depth": w.depth}, nil
}

type walker struct {
	counts map[string]int
	depth  int
}

func (w *walker) walk(value any, level int) (any, error) {
	switch value.(type) {
	case object, []any:
		if level++; level > maxDepth {
			return nil, &ToolError{"data", "is nested too deep"}
		}
		w.depth = max(w.depth, level)
	}
	switch v := value.(type) {
	case object:
		w.counts["objects"]++
		out := make(object, len(v))
		for key, member := range v {
			copied, err := w.walk(member, level)
			if err != nil {
				return nil, err
			}
			out[key] = copied
		}
		return out, nil
	case []any:
		w.counts["arrays"]++
		out := make([]any, len(v))
		for i, member := range v {
			copied, err := w.walk(member, level)
			if err != nil {
				return nil, err
			}
			out[i] = copied
		}
		return out, nil
	case string:
		w.counts["strings"]++
		return upper(v), nil
	case json.Number:
		w.counts["numbers"]++
		f, _ := strconv.ParseFloat(v.String(), 64)
		if math.Abs(f) > maxNumber {
			return nil, &ToolError{"data", "holds a number beyond ±(2^53−1)"}
		}
		return v, nil
	case bool:
		w.counts["booleans"]++
	case nil:
		w.counts["nulls"]++
	}
	return value, nil
}

// upper replaces the ASCII letters a-z and nothing else.
func upper(s string) string {
	out := []byte(s)
	for i, c := range out {
		if 'a' <= c && c <= 'z' {
			out[i] = c - ('a' - 'A')
		}
	}
	return string(out)
}

func query(args object) (any, error) {
	if err := only(args, "query", "delay_ms", "rows"); err != nil {
		return nil, err
	}
	q, err := text(args, "query")
	if err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(q); n < 1 || n > 1000 {
		return nil, &ToolError{"query", "must have 1 to 1000 code points"}
	}
	delay, err := integer(args, "delay_ms", 0, 5000, 10)
	if err != nil {
		return nil, err
	}
	count, err := integer(args, "rows", 0, 1000, 10)
	if err != nil {
		return nil, err
	}
	rows := make([]object, count)
	for i := range rows {
		rows[i] = object{"id": i, "name": fmt.Sprintf("row-%d", i), "value": i * 37 % 1000}
	}
	return object{"query": q, "delay_ms": delay, "rows": rows}, nil
}

var (
	anySurrogate  = regexp.MustCompile(`(?i)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u(d[89a-f][0-9a-f]{2})|\\.`)
	surrogateMark = []byte(`\u`)
)

// wellFormed reports whether no string in the JSON text has a lone surrogate. encoding/json cannot tell: it replaces them
// by U+FFFD.
func wellFormed(jsonText []byte) bool {
	if !bytes.Contains(jsonText, surrogateMark) {
		return true
	}
	for _, match := range anySurrogate.FindAllSubmatch(jsonText, -1) {
		if match[3] != nil {
			return false
		}
	}
	return true
}
