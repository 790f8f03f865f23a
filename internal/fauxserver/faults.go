package fauxserver

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/jsondiff"
)

// Fault is one way to break the contract, or to use a freedom that it leaves.
type Fault struct {
	Name string
	// About says what the server does.
	About string
	// hooks makes the hooks anew for each server, so that servers share no state.
	hooks func() hooks
}

// hooks are the places where a fault acts; a nil hook changes nothing.
type hooks struct {
	request    func(body []byte) []byte
	tool       func(*toolCall)
	answer     func(call, *answer)
	anyHost    bool // foreign hosts are served
	anyOrigin  bool // foreign origins are served
	anySession bool // unknown sessions are served
	noLimit    bool // bodies of any size are read
}

// Faults break the contract, each in one way that was seen, or is easily made, in a real server.
var Faults = []Fault{
	// Structured results; the text block goes along, as it does when one value is written twice.
	inRows("key-renamed", "the rows' `value` is called `val`", func(row object) { row["val"] = row["value"]; delete(row, "value") }),
	inRows("integer-as-string", "`value` is a string", func(row object) { row["value"] = jsondiff.Text(row["value"]) }),
	inRows("off-by-one", "`value` is computed with 38 instead of 37", func(row object) {
		if jsondiff.Equal(row["id"], number("1")) {
			row["value"] = number("38")
		}
	}),
	inRows("null-for-value", "`value` is null", func(row object) { row["value"] = nil }),
	inRows("absent-value", "`value` is left out", func(row object) { delete(row, "value") }),
	inRows("extra-null", "a field without a value is written as null", func(row object) { row["note"] = nil }),
	onTool("empty-array-as-null", "no rows are null", "simulate_db_query", func(t *toolCall) {
		if len(rows(t)) == 0 {
			t.structured["rows"] = nil
		}
	}),
	onTool("rows-reversed", "the rows come in reverse order", "simulate_db_query", func(t *toolCall) { slices.Reverse(rows(t)) }),
	onTool("row-dropped", "the last row is missing", "simulate_db_query", func(t *toolCall) {
		if r := rows(t); len(r) > 0 {
			t.structured["rows"] = r[:len(r)-1]
		}
	}),
	onTool("fraction", "an integer is off by less than one", "calculate_fibonacci", func(t *toolCall) {
		t.structured["result"] = number(jsondiff.Text(t.structured["result"]) + ".5")
	}),
	{
		"cached", "the first answer of a tool is given again for other arguments",
		func() hooks {
			var once sync.Once
			var first object
			return hooks{tool: func(t *toolCall) {
				if t.name == "calculate_fibonacci" {
					once.Do(func() { first = t.structured })
					t.structured = first
				}
			}}
		},
	},
	{
		"rounded-numbers", "numbers pass through 32-bit floats",
		func() hooks {
			return hooks{tool: func(t *toolCall) {
				if data, ok := t.structured["data"]; ok {
					t.structured["data"] = mapValues(data, func(value any) any {
						if n, ok := value.(json.Number); ok {
							if f, err := n.Float64(); err == nil {
								return number(jsondiff.Text(float32(f)))
							}
						}
						return value
					})
				}
			}}
		},
	},
	{
		"unicode-upper-case", "all letters are upper-cased, not only ASCII",
		func() hooks {
			return hooks{tool: func(t *toolCall) {
				if data, ok := t.structured["data"]; ok {
					t.structured["data"] = mapValues(data, func(value any) any {
						if s, ok := value.(string); ok {
							return strings.ToUpper(s)
						}
						return value
					})
				}
			}}
		},
	},
	{
		"lone-surrogate-replaced", "a lone surrogate becomes U+FFFD",
		func() hooks {
			return hooks{request: func(body []byte) []byte {
				var message object
				decoder := json.NewDecoder(strings.NewReader(string(body)))
				decoder.UseNumber()
				if decoder.Decode(&message) != nil || !strings.Contains(strings.ToLower(string(body)), `\ud`) {
					return body
				}
				return []byte(jsondiff.Text(message))
			}}
		},
	},

	// Results of calls.
	onSuccess("text-differs", "the text block is of an older answer", func(r object) { setText(r, `{"n":0,"result":0}`) }),
	onSuccess("text-indented", "the text block is indented for people", func(r object) {
		indented, _ := json.MarshalIndent(r["structuredContent"], "", "  ")
		setText(r, string(indented))
	}),
	onSuccess("text-for-people", "the text block is a sentence", func(r object) { setText(r, "Here is the answer.") }),
	onSuccess("two-blocks", "the text block comes twice", func(r object) {
		content := r["content"].([]any)
		r["content"] = append(content, content...)
	}),
	onSuccess("no-content", "there is no content", func(r object) { r["content"] = []any{} }),
	onSuccess("no-structured-content", "there is only text", func(r object) { delete(r, "structuredContent") }),
	onSuccess("is-error-null", "isError is null", func(r object) { r["isError"] = nil }),
	onSuccess("block-null", "the block has annotations: null", func(r object) { block(r)["annotations"] = nil }),
	onSuccess("is-error-string", "isError is a string", func(r object) { r["isError"] = "false" }),
	onToolError("is-error-missing", "an error does not say that it is one", func(r object) { delete(r, "isError") }),
	onToolError("structured-error", "an error has structuredContent", func(r object) { r["structuredContent"] = object{"error": "invalid"} }),
	onToolError("argument-not-named", "an error does not say which argument", func(r object) { setText(r, "invalid input") }),
	{
		"errors-as-protocol-errors", "wrong arguments are answered -32602",
		func() hooks {
			return hooks{answer: func(_ call, a *answer) {
				if r, ok := a.message["result"].(object); ok && r["isError"] == true {
					delete(a.message, "result")
					a.message["error"] = object{"code": codeInvalidParams, "message": "invalid arguments"}
				}
			}}
		},
	},

	// JSON-RPC.
	onMessage("id-as-string", "a number in the id comes back as a string", func(m object) {
		if n, ok := m["id"].(json.Number); ok {
			m["id"] = n.String()
		}
	}),
	{
		"id-of-another-request", "the id is that of the request before",
		func() hooks {
			var mu sync.Mutex
			var last any = number("-1")
			return hooks{answer: func(c call, a *answer) {
				if a.message != nil && c.method == "tools/call" {
					mu.Lock()
					defer mu.Unlock()
					a.message["id"], last = last, c.id
				}
			}}
		},
	},
	{
		"answers-by-id", "answers in flight are kept by request id, across clients",
		func() hooks {
			var mu sync.Mutex
			calls := map[string]object{}
			return hooks{
				tool: func(t *toolCall) {
					// Stands for a map from id to answer: two calls of one kind at a time get the answer of the later.
					mu.Lock()
					calls[t.name] = t.structured
					mu.Unlock()
				},
				answer: func(c call, a *answer) {
					if r, ok := success(a); ok && c.method == "tools/call" {
						mu.Lock()
						r["structuredContent"] = calls[c.params["name"].(string)]
						mu.Unlock()
						setText(r, jsondiff.Text(r["structuredContent"]))
					}
				},
			}
		},
	},
	onMessage("error-null", "a result comes with error: null", func(m object) {
		if _, ok := m["result"]; ok {
			m["error"] = nil
		}
	}),
	onMessage("version-missing", "jsonrpc is left out", func(m object) { delete(m, "jsonrpc") }),
	onMessage("code-wrong", "every protocol error is -32603", func(m object) {
		if e, ok := m["error"].(object); ok {
			e["code"] = -32603
		}
	}),
	onMessage("code-as-string", "an error code is a string", func(m object) {
		if e, ok := m["error"].(object); ok {
			e["code"] = jsondiff.Text(e["code"])
		}
	}),

	// HTTP.
	{
		"errors-as-500", "a protocol error has HTTP status 500",
		func() hooks {
			return hooks{answer: func(_ call, a *answer) {
				if _, ok := a.message["error"]; ok {
					a.status = http.StatusInternalServerError
				}
			}}
		},
	},
	{
		"notification-200", "a notification is answered 200",
		func() hooks {
			return hooks{answer: func(_ call, a *answer) {
				if a.status == http.StatusAccepted {
					a.status = http.StatusOK
				}
			}}
		},
	},
	{
		"content-type-text", "JSON is sent as text/plain",
		func() hooks {
			return hooks{answer: func(c call, a *answer) {
				if c.method == "ping" && a.message != nil {
					a.header.Set("Content-Type", "text/plain")
					a.body = []byte(jsondiff.Text(a.message))
				}
			}}
		},
	},
	onBody("not-json", "a call is answered with an HTML page", func([]byte) []byte { return []byte("<html></html>") }),
	onBody("truncated", "an answer ends too soon", func(body []byte) []byte { return body[:len(body)/2] }),
	onBody("not-utf-8", "an answer has a byte that is not UTF-8", func(body []byte) []byte {
		return []byte(strings.Replace(string(body), `"result"`, "\"res\xffult\"", 1))
	}),
	onBody("key-twice", "an answer has a key twice", func(body []byte) []byte {
		return []byte(strings.Replace(string(body), `"jsonrpc"`, `"id":0,"jsonrpc"`, 1))
	}),
	{
		"crash", "a call of one tool breaks the connection",
		func() hooks {
			return hooks{answer: func(c call, _ *answer) {
				if c.params["name"] == "calculate_fibonacci" {
					panic(http.ErrAbortHandler)
				}
			}}
		},
	},
	{
		"silent", "a call of one tool is never answered",
		func() hooks {
			return hooks{tool: func(t *toolCall) {
				if t.name == "calculate_fibonacci" {
					t.delay = time.Hour
				}
			}}
		},
	},
	{"session-not-checked", "an unknown session is served", func() hooks { return hooks{anySession: true} }},
	{"host-not-checked", "a foreign Host is served", func() hooks { return hooks{anyHost: true} }},
	{"origin-not-checked", "a foreign Origin is served", func() hooks { return hooks{anyOrigin: true} }},
	{"no-body-limit", "a body of any size is read", func() hooks { return hooks{noLimit: true} }},

	// Time.
	onTool("too-early", "a call does not wait", "simulate_db_query", func(t *toolCall) { t.delay = 0 }),
	{
		"serial", "a call that waits holds up all others",
		func() hooks {
			var mu sync.Mutex
			return hooks{tool: func(t *toolCall) { t.serial = &mu }}
		},
	},

	// tools/list.
	onList("order-varies", "the tools come in another order each time", func(list object) {
		tools := list["tools"].([]any)
		rand.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
	}),
	onList("tool-missing", "a tool is not listed", func(list object) { list["tools"] = list["tools"].([]any)[1:] }),
	onFirstTool("description-changed", "a description lost its end", func(tool object) {
		text := tool["description"].(string)
		tool["description"] = text[:len(text)-1]
	}),
	onFirstTool("schema-changed", "a limit in a schema is another", func(tool object) {
		tool["inputSchema"] = object{"type": "object", "properties": object{"n": object{
			"type": "integer", "minimum": number("0"), "maximum": number("31"), "description": "Index of the Fibonacci number, from 0 to 32.",
		}}, "required": []any{"n"}, "additionalProperties": false}
	}),
	onFirstTool("annotations-null", "annotations are null", func(tool object) { tool["annotations"] = nil }),
	onList("cursor-on-last-page", "the last page has a cursor", func(list object) { list["nextCursor"] = "more" }),
}

// Freedoms are what the contract leaves open; the gate must not mind.
var Freedoms = []Fault{
	onFirstTool("schema-dialect", "$schema is spelt out", func(tool object) {
		tool["inputSchema"].(object)["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	}),
	onFirstTool("decoration", "a tool has icons, execution and _meta", func(tool object) {
		tool["icons"], tool["execution"], tool["_meta"] = []any{}, object{"taskSupport": "forbidden"}, object{}
	}),
	{"stream", "every reply is an SSE stream with comments and other events", func() hooks {
		return hooks{answer: func(_ call, a *answer) { a.stream = a.status == http.StatusOK }}
	}},
	onSuccess("is-error-false", "isError is false", func(r object) { r["isError"] = false }),
	onSuccess("text-escaped", "the text block escapes what it need not", func(r object) {
		escaped, _ := json.Marshal(r["structuredContent"]) // < as \u003c
		setText(r, string(escaped))
	}),
	{"status-400-for-malformed-calls", "a malformed call has HTTP status 400", func() hooks {
		return hooks{answer: func(c call, a *answer) {
			_, isText := c.params["name"].(string)
			if _, ok := a.message["error"]; ok && c.method == "tools/call" && !isText {
				a.status = http.StatusBadRequest
			}
		}}
	}},
	{"no-id-in-400", "a refused message has no id", func() hooks {
		return hooks{answer: func(_ call, a *answer) {
			if a.status == http.StatusBadRequest {
				delete(a.message, "id")
			}
		}}
	}},
}

// onTool acts on the successful calls of one tool.
func onTool(name, about, tool string, change func(*toolCall)) Fault {
	return Fault{name, about, func() hooks {
		return hooks{tool: func(t *toolCall) {
			if t.name == tool {
				change(t)
			}
		}}
	}}
}

// inRows acts on each row of simulate_db_query.
func inRows(name, about string, change func(row object)) Fault {
	return onTool(name, about, "simulate_db_query", func(t *toolCall) {
		for _, row := range rows(t) {
			change(row.(object))
		}
	})
}

func rows(t *toolCall) []any {
	rows, _ := t.structured["rows"].([]any)
	return rows
}

// onSuccess and onToolError act on the results of calls.
func onSuccess(name, about string, change func(result object)) Fault {
	return Fault{name, about, func() hooks {
		return hooks{answer: func(_ call, a *answer) {
			if r, ok := success(a); ok {
				change(r)
			}
		}}
	}}
}

func onToolError(name, about string, change func(result object)) Fault {
	return Fault{name, about, func() hooks {
		return hooks{answer: func(_ call, a *answer) {
			if r, ok := a.message["result"].(object); ok && r["isError"] == true {
				change(r)
			}
		}}
	}}
}

func success(a *answer) (object, bool) {
	r, ok := a.message["result"].(object)
	_, structured := r["structuredContent"]
	return r, ok && structured
}

// onMessage acts on every JSON-RPC response.
func onMessage(name, about string, change func(message object)) Fault {
	return Fault{name, about, func() hooks {
		return hooks{answer: func(_ call, a *answer) {
			if a.message != nil {
				change(a.message)
			}
		}}
	}}
}

// onBody acts on the text of the answers to calls of one tool.
func onBody(name, about string, change func(body []byte) []byte) Fault {
	return Fault{name, about, func() hooks {
		return hooks{answer: func(c call, a *answer) {
			if c.params["name"] == "calculate_fibonacci" && a.message != nil {
				a.header.Set("Content-Type", "application/json")
				a.body = change([]byte(jsondiff.Text(a.message)))
			}
		}}
	}}
}

// onList acts on the result of tools/list.
func onList(name, about string, change func(list object)) Fault {
	return Fault{name, about, func() hooks {
		return hooks{answer: func(c call, a *answer) {
			if list, ok := a.message["result"].(object); ok && c.method == "tools/list" {
				change(list)
			}
		}}
	}}
}

// onFirstTool acts on the first tool in the list, on a copy.
func onFirstTool(name, about string, change func(tool object)) Fault {
	return onList(name, about, func(list object) {
		tools := list["tools"].([]any)
		tools[0] = mapValues(tools[0], func(value any) any { return value })
		change(tools[0].(object))
	})
}

func block(result object) object { return result["content"].([]any)[0].(object) }

func setText(result object, text string) { block(result)["text"] = text }

func number(text string) json.Number { return json.Number(text) }

// mapValues returns a deep copy in which each value that is no object and no array was changed.
func mapValues(value any, change func(any) any) any {
	switch v := value.(type) {
	case object:
		out := make(object, len(v))
		for name, member := range v {
			out[name] = mapValues(member, change)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = mapValues(element, change)
		}
		return out
	}
	return change(value)
}
