package gate_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/fauxserver"
	"github.com/mcp-parity/mcp-parity/internal/gate"
)

func diff(t *testing.T, a, b gate.Target, opt gate.Options) *gate.Report {
	t.Helper()
	report, err := gate.Diff(t.Context(), a, b, quick(vectors(t), ""), opt)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// unknown forgets what a caller of Diff cannot know.
func unknown(t gate.Target) gate.Target {
	t.Profiles, t.Stateful = nil, false
	return t
}

func TestDiffOfEqualServers(t *testing.T) {
	t.Parallel()
	a := unknown(target(t, "before", false, "", fauxserver.Fault{}))
	b := unknown(target(t, "after", true, "", fault(t, "stream")))
	report := diff(t, a, b, gate.Options{})
	if got := report.Counts("after"); !report.OK() || got.Passed < 100 {
		t.Errorf("got %+v\n%s", got, text(t, report))
	}
}

func TestDiffFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault string
		all   bool
		want  place
	}{
		{"off-by-one", false, place{"db/rows-2", gate.AspectStructured, "/rows/1/value"}},
		{"description-changed", false, place{gate.ToolsList, gate.AspectResult, "/tools/0/description"}},
		{"order-varies", false, place{gate.ToolsList, gate.AspectResult, "/tools"}},
		{"tool-missing", false, place{gate.ToolsList, gate.AspectResult, "/tools"}},
		{"errors-as-protocol-errors", false, place{"fibonacci/n-33", gate.AspectClass, ""}},
		{"structured-error", false, place{"fibonacci/n-33", gate.AspectStructured, ""}},
		{"text-differs", false, place{"fibonacci/n-10", gate.AspectContent, "/0/text/n"}},
		{"id-as-string", false, place{"fibonacci/n-10", gate.AspectID, "/id"}},
		{"crash", false, place{"arguments/fibonacci-missing", gate.AspectTransport, ""}},
		{"code-wrong", true, place{"protocol/unknown-tool", gate.AspectCode, "/error/code"}},
		{"errors-as-500", true, place{"protocol/unknown-tool", gate.AspectStatus, ""}},
		{"host-not-checked", true, place{"http/host-foreign", gate.AspectStatus, ""}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			report := diff(t, target(t, "before", false, "", fauxserver.Fault{}), target(t, "after", false, "", fault(t, c.fault)), gate.Options{All: c.all})
			for _, d := range report.Differences() {
				if d.Target == "after" && d.Vector == c.want.vector && d.Aspect == c.want.aspect && d.Pointer == c.want.pointer {
					return
				}
			}
			t.Errorf("not found in %+v, but:\n%s", c.want, text(t, report))
		})
	}
}

// Only vectors whose tools both servers have are sent.
func TestDiffLeavesOutOtherTools(t *testing.T) {
	t.Parallel()
	report := diff(t, target(t, "before", false, "", fauxserver.Fault{}), target(t, "after", false, "", fault(t, "tool-missing")), gate.Options{})
	for _, result := range report.Results {
		if strings.HasPrefix(result.Vector, "fibonacci/") || strings.HasPrefix(result.Vector, "protocol/") {
			t.Errorf("%s was sent", result.Vector)
		}
	}
}

// older is a server that speaks only an older revision, needs its header, lists its tools on two pages and has no structured
// results.
func older(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var message struct {
		ID     json.RawMessage
		Method string
		Params struct{ Cursor string }
	}
	if json.Unmarshal(body, &message) != nil || message.Method != "initialize" && r.Header.Get("Mcp-Protocol-Version") != "2025-06-18" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}`,
		"tools/list": `{"tools":[{"name":"calculate_fibonacci"}],"nextCursor":"2"}`,
		"tools/call": `{"content":[{"type":"text","text":"{ \"a\" : 1.0 }"}]}`,
	}[message.Method]
	if message.Params.Cursor == "2" {
		result = `{"tools":[{"name":"other"}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result)
}

func TestDiffOfOlderServers(t *testing.T) {
	t.Parallel()
	a := unknown(serve(t, "before", false, http.HandlerFunc(older)))
	b := unknown(serve(t, "after", false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &replacer{w, strings.NewReplacer(`{ \"a\" : 1.0 }`, `{\"a\":1}`)}
		older(recorder, r)
	})))
	report := diff(t, a, b, gate.Options{})
	if got := report.Counts("after"); !report.OK() || got.Passed < 20 {
		t.Errorf("got %+v\n%s", got, text(t, report))
	}
}

type replacer struct {
	http.ResponseWriter
	*strings.Replacer
}

func (r *replacer) Write(p []byte) (int, error) {
	_, err := io.WriteString(r.ResponseWriter, r.Replace(string(p)))
	return len(p), err
}

func TestDiffNeedsMCP(t *testing.T) {
	t.Parallel()
	a := unknown(target(t, "before", false, "", fauxserver.Fault{}))
	b := unknown(serve(t, "page", false, http.NotFoundHandler()))
	if _, err := gate.Diff(t.Context(), a, b, nil, gate.Options{}); err == nil || !strings.Contains(err.Error(), "page at") {
		t.Errorf("got error %v", err)
	}
}
