package gate_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/fauxserver"
	"github.com/mcp-parity/mcp-parity/internal/gate"
)

// place is where a fault must be found. Vector is a pattern as of path.Match.
type place struct {
	vector  string
	aspect  gate.Aspect
	pointer string
}

// caught says for every fault where the gate must find it; among other places, as the case may be.
var caught = map[string]place{
	"key-renamed":               {"db/rows-2", gate.AspectStructured, "/rows/1/val"},
	"integer-as-string":         {"db/rows-2", gate.AspectStructured, "/rows/1/value"},
	"off-by-one":                {"db/rows-2", gate.AspectStructured, "/rows/1/value"},
	"null-for-value":            {"db/rows-2", gate.AspectSchema, "/rows/1/value"},
	"absent-value":              {"db/rows-2", gate.AspectStructured, "/rows/0/value"},
	"extra-null":                {"db/rows-2", gate.AspectStructured, "/rows/0/note"},
	"empty-array-as-null":       {"db/rows-0", gate.AspectStructured, "/rows"},
	"rows-reversed":             {"db/rows-2", gate.AspectStructured, "/rows/0/id"},
	"row-dropped":               {"db/rows-2", gate.AspectStructured, "/rows/1"},
	"fraction":                  {"fibonacci/n-10", gate.AspectStructured, "/result"},
	"cached":                    {"fibonacci/n-*", gate.AspectStructured, "/n"},
	"rounded-numbers":           {"numbers/forms-in-data", gate.AspectStructured, "/data/g"},
	"unicode-upper-case":        {"unicode/*", gate.AspectStructured, "/data/*"},
	"lone-surrogate-replaced":   {"unicode/*", gate.AspectClass, ""},
	"text-differs":              {"fibonacci/n-10", gate.AspectContent, "/0/text/result"},
	"text-indented":             {"fibonacci/n-10", gate.AspectContent, "/0/text"},
	"text-for-people":           {"fibonacci/n-10", gate.AspectContent, "/0/text"},
	"two-blocks":                {"fibonacci/n-10", gate.AspectContent, ""},
	"no-content":                {"fibonacci/n-10", gate.AspectContent, ""},
	"no-structured-content":     {"fibonacci/n-10", gate.AspectStructured, ""},
	"is-error-null":             {"fibonacci/n-10", gate.AspectResult, "/isError"},
	"block-null":                {"fibonacci/n-10", gate.AspectResult, "/content/0/annotations"},
	"is-error-string":           {"fibonacci/n-10", gate.AspectResult, "/isError"},
	"is-error-missing":          {"fibonacci/n-33", gate.AspectClass, ""},
	"structured-error":          {"fibonacci/n-33", gate.AspectStructured, ""},
	"argument-not-named":        {"fibonacci/n-33", gate.AspectContent, "/0/text"},
	"errors-as-protocol-errors": {"fibonacci/n-33", gate.AspectClass, ""},
	"id-as-string":              {"fibonacci/n-10", gate.AspectID, "/id"},
	"id-of-another-request":     {gate.RepeatCall, gate.AspectID, "/id"},
	"answers-by-id":             {gate.SameID, gate.AspectStructured, "/query"},
	"error-null":                {"fibonacci/n-10", gate.AspectMessage, "/error"},
	"version-missing":           {"fibonacci/n-10", gate.AspectMessage, "/jsonrpc"},
	"code-wrong":                {"protocol/unknown-tool", gate.AspectCode, "/error/code"},
	"code-as-string":            {"protocol/unknown-tool", gate.AspectCode, "/error/code"},
	"errors-as-500":             {"protocol/unknown-tool", gate.AspectStatus, ""},
	"notification-200":          {"protocol/initialized", gate.AspectStatus, ""},
	"content-type-text":         {"protocol/ping", gate.AspectClass, ""},
	"not-json":                  {"fibonacci/n-10", gate.AspectBody, ""},
	"truncated":                 {"fibonacci/n-10", gate.AspectBody, ""},
	"not-utf-8":                 {"fibonacci/n-10", gate.AspectBody, ""},
	"key-twice":                 {"fibonacci/n-10", gate.AspectBody, ""},
	"crash":                     {"arguments/fibonacci-*", gate.AspectTransport, ""},
	"silent":                    {"arguments/fibonacci-*", gate.AspectTransport, ""},
	"session-not-checked":       {"sessions/unknown", gate.AspectStatus, ""},
	"host-not-checked":          {"http/host-foreign", gate.AspectStatus, ""},
	"origin-not-checked":        {"http/origin-foreign", gate.AspectStatus, ""},
	"no-body-limit":             {"size/4.1-mib-chunked", gate.AspectStatus, ""},
	"too-early":                 {"db/*", gate.AspectTiming, ""},
	"serial":                    {"test/parallel", gate.AspectTiming, ""},
	"order-varies":              {gate.RepeatList, gate.AspectResult, "/tools"},
	"tool-missing":              {"protocol/tools-list", gate.AspectResult, "/tools"},
	"description-changed":       {"protocol/tools-list", gate.AspectResult, "/tools/0/description"},
	"schema-changed":            {"protocol/tools-list", gate.AspectResult, "/tools/0/inputSchema/properties/n/maximum"},
	"annotations-null":          {"protocol/tools-list", gate.AspectResult, "/tools/0/annotations"},
	"cursor-on-last-page":       {"protocol/tools-list", gate.AspectResult, "/nextCursor"},
}

// quick leaves out vectors that take seconds, unless they are asked for.
func quick(all []contract.Vector, wanted string) []contract.Vector {
	return slices.DeleteFunc(slices.Clone(all), func(v contract.Vector) bool {
		slow := v.MinMS > 400 || strings.HasPrefix(v.Name, "fetch/") || strings.HasPrefix(v.Name, "size/")
		return slow && v.Name != wanted
	})
}

func TestFaultsAreCaught(t *testing.T) {
	t.Parallel()
	up := upstreamURL(t)
	all := append(vectors(t), parse(t, `
group: test
about: Quick stand-ins for vectors that take seconds.
vectors:
  - name: parallel
    why: calls that wait do not hold up each other
    call: {tool: simulate_db_query, arguments: '{"query":"q","delay_ms":100,"rows":0}'}
    parallel: 8
    min_ms: 100
    expect: {result: '{"query":"q","delay_ms":100,"rows":[]}'}
`)...)
	for _, fault := range fauxserver.Faults {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			want, ok := caught[fault.Name]
			if !ok {
				t.Fatal("no test says where this fault must be found")
			}
			group := path.Dir(want.vector)
			opt := gate.Options{Seed: seed, Only: func(name string) bool { return path.Dir(name) == group }}
			if fault.Name == "silent" {
				opt.Timeout = time.Second
			}
			report, err := gate.Check(t.Context(), []gate.Target{
				target(t, "faux", false, up.URL, fault),
				target(t, "faux/stateful", true, up.URL, fault),
			}, tools(t), quick(all, want.vector), opt)
			if err != nil {
				t.Fatal(err)
			}
			if report.OK() {
				t.Fatalf("the report is good, although %s", fault.About)
			}
			for _, d := range report.Differences() {
				vector, _ := path.Match(want.vector, d.Vector)
				pointer, _ := path.Match(want.pointer, d.Pointer)
				if vector && pointer && d.Aspect == want.aspect && d.Other == "" {
					return
				}
			}
			t.Errorf("not found in %+v, but:\n%s", want, text(t, report))
		})
	}
	for name := range caught {
		found := false
		for _, fault := range fauxserver.Faults {
			found = found || fault.Name == name
		}
		if !found {
			t.Errorf("there is no fault %s", name)
		}
	}
}

func TestFreedomsAreLeft(t *testing.T) {
	t.Parallel()
	up := upstreamURL(t)
	all := vectors(t)
	for _, freedom := range fauxserver.Freedoms {
		t.Run(freedom.Name, func(t *testing.T) {
			t.Parallel()
			report, err := gate.Check(t.Context(), []gate.Target{
				target(t, "plain", false, up.URL, fauxserver.Fault{}),
				target(t, "faux", false, up.URL, freedom),
				target(t, "faux/stateful", true, up.URL, freedom),
			}, tools(t), quick(all, ""), gate.Options{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if !report.OK() {
				t.Error(text(t, report))
			}
		})
	}
}
