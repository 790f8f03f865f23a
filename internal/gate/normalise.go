package gate

import (
	"maps"
	"slices"
	"strings"
)

// ignored is the whole list of what servers may answer differently: members of a JSON-RPC response, by JSON pointer with
// * for any key or index, each with the reason. They are taken out of answers before these are compared
// as a whole. All else must be equal: title, description, annotations, schemas and the order of tools among it.
//
// Three freedoms are not members and need no entry: a reply may be one JSON body or one SSE stream (whatever its events'
// names, ids, retry times and comments), the members of an object may come in any order, and HTTP headers are free where a
// vector does not name them.
var ignored = []struct{ pointer, reason string }{
	{"/error/message", "text for people; the code is what clients act on"},
	{"/error/data", "details for people, or for a client that knows the server"},
	{"/result/_meta", "reserved by the protocol for extensions; names the server in 2026-07-28"},
	{"/result/resultType", "2026-07-28 only: the same answer without it in 2025-11-25"},
	{"/result/ttlMs", "caching hint of an SDK; the tools never change while a server runs"},
	{"/result/cacheScope", "caching hint of an SDK"},
	{"/result/serverInfo", "the server's own name and version"},
	{"/result/instructions", "advice of the server's author, no behaviour"},
	{"/result/supportedVersions", "what else an SDK speaks; the revisions that count have vectors"},
	{"/result/capabilities/logging", "advertised by SDKs on their own; no tool uses it"},
	{"/result/capabilities/completions", "advertised by SDKs on their own; no tool uses it"},
	{"/result/capabilities/prompts", "advertised by SDKs on their own; there are none"},
	{"/result/capabilities/resources", "advertised by SDKs on their own; there are none"},
	{"/result/capabilities/experimental", "of an SDK, by definition"},
	{"/result/capabilities/extensions", "of an SDK, by definition"},
	{"/result/capabilities/tasks", "advertised by SDKs on their own; no tool is a task"},
	{"/result/capabilities/tools/listChanged", "whether an SDK could tell of a change; there is none"},
	{"/result/tools/*/_meta", "reserved by the protocol for extensions"},
	{"/result/tools/*/icons", "decoration"},
	{"/result/tools/*/execution", "says how an SDK could run the tool as a task; calls are not affected"},
	{"/result/tools/*/inputSchema/$schema", "JSON Schema 2020-12 is the protocol's default; some SDKs spell it out"},
	{"/result/tools/*/outputSchema/$schema", "JSON Schema 2020-12 is the protocol's default; some SDKs spell it out"},
	{"/result/content/*/_meta", "reserved by the protocol for extensions"},
}

// normalise returns the value, which stands at the pointer of a response, without what is ignored.
func normalise(value any, pointer string) any {
	for _, rule := range ignored {
		if rest, ok := strings.CutPrefix(rule.pointer, pointer+"/"); ok {
			value = without(value, strings.Split(rest, "/"))
		}
	}
	return value
}

// without returns a copy that lacks the member at the path; the value itself stays as it is.
func without(value any, path []string) any {
	switch v := value.(type) {
	case map[string]any:
		child, ok := v[path[0]]
		if !ok {
			return value
		}
		v = maps.Clone(v)
		if len(path) == 1 {
			delete(v, path[0])
		} else {
			v[path[0]] = without(child, path[1:])
		}
		return v
	case []any:
		if path[0] != "*" || len(path) == 1 {
			return value
		}
		v = slices.Clone(v)
		for i := range v {
			v[i] = without(v[i], path[1:])
		}
		return v
	}
	return value
}
