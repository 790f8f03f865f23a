package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/jsondiff"
)

// ToolsList is the comparison of the tools in a diff.
const ToolsList = "built-in/tools-list"

// maxPages is how many pages of tools are read, so that a server whose pages never end does not hold up a diff.
const maxPages = 100

// Diff compares the answers of b with those of a; what the vectors expect does not matter. It compares their tools, then
// sends the vectors that call only tools that both have, or all vectors if opt.All. A target without Profiles is asked for
// what it speaks, see Detect.
func Diff(ctx context.Context, a, b Target, vectors []contract.Vector, opt Options) (*Report, error) {
	start := time.Now()
	opt.Known = nil // they are differences from the contract
	for _, t := range []*Target{&a, &b} {
		if len(t.Profiles) == 0 {
			found, err := Detect(ctx, *t, opt.Timeout)
			if err != nil {
				return nil, err
			}
			*t = found
		}
		if err := t.checkProfiles(); err != nil {
			return nil, err
		}
	}
	common := slices.DeleteFunc(slices.Clone(a.Profiles), func(p string) bool { return !slices.Contains(b.Profiles, p) })
	if len(common) == 0 {
		return nil, fmt.Errorf("%s speaks %s and %s speaks %s: they have no wire revision in common",
			a.Name, strings.Join(a.Profiles, ", "), b.Name, strings.Join(b.Profiles, ", "))
	}
	a.Profiles, b.Profiles = common, common

	report := NewReport([]Target{a, b}, opt)
	var both []string
	for _, profile := range common {
		shared, err := report.diffTools(ctx, a, b, profile)
		if err != nil {
			return nil, err
		}
		both = append(both, shared...)
	}
	jobs := func(t, other Target) []job {
		// Vectors about one session mode are sent only if it is the mode of both.
		return slices.DeleteFunc(planVectors(t, vectors, opt), func(j job) bool {
			return !opt.All && !callsOnly(j, both) ||
				!slices.ContainsFunc(planVectors(other, vectors, opt), func(o job) bool { return o.key() == j.key() })
		})
	}
	runs := []*run{newRun(a, jobs(a, b), opt), newRun(b, jobs(b, a), opt)}
	if err := runAll(ctx, runs); err != nil {
		return nil, err
	}
	for i, j := range runs[0].jobs {
		oa, ob := runs[0].outcomes[i], runs[1].outcomes[i]
		if oa.sent && ob.sent && len(oa.differences) == 0 && len(ob.differences) == 0 {
			ob.differences = compareTraces(reference{a.Name, oa.traces}, ob.traces, compareReplies)
		}
		if oa.sent {
			report.add(a, j, oa)
		}
		if ob.sent {
			report.add(b, j, ob)
		}
	}
	for _, r := range runs {
		report.addGivenUp(r)
	}
	report.sort()
	report.Duration = time.Since(start)
	return report, nil
}

// callsOnly reports whether the job calls tools and no others than these.
func callsOnly(j job, tools []string) bool {
	for _, step := range slices.Concat(j.scripts...) {
		if step.Call == nil || !slices.Contains(tools, step.Call.Tool) {
			return false
		}
	}
	return true
}

// diffTools lists the tools of both targets repeatedly, compares every list with a's first, and returns the names that both
// have.
func (r *Report) diffTools(ctx context.Context, a, b Target, profile string) (both []string, err error) {
	var first []map[string]any
	for _, t := range []Target{a, b} {
		w := newWire(t, cmp.Or(r.opt.Timeout, defaultTimeout))
		defer w.close()
		c := newClient(w, profile)
		if t.Stateful && profile == contract.Revision20251125 {
			if err := c.open(ctx); err != nil {
				return nil, fmt.Errorf("%s at %s: %w", t.Name, t.URL, err)
			}
			defer c.end(ctx)
		}
		o := outcome{sent: true}
		begin := time.Now()
		for range repetitions {
			tools, err := c.listTools(ctx)
			if err != nil {
				return nil, fmt.Errorf("listing the tools of %s at %s: %w", t.Name, t.URL, err)
			}
			if first == nil {
				first = tools
			}
			var f findings
			f.toolLists(first, tools)
			for _, d := range f {
				d.Other = a.Name
				o.differences = append(o.differences, d)
			}
			for _, tool := range tools {
				name, ok := tool["name"].(string)
				known := slices.ContainsFunc(first, func(t map[string]any) bool { return t["name"] == name })
				if ok && known && t.Name == b.Name && !slices.Contains(both, name) {
					both = append(both, name)
				}
			}
		}
		o.elapsed = time.Since(begin)
		o.differences = unique(o.differences)
		r.add(t, job{vector: ToolsList, profile: profile}, o)
	}
	return both, nil
}

// listTools returns the tools of all pages, without what is ignored.
func (c *client) listTools(ctx context.Context) ([]map[string]any, error) {
	tools := []map[string]any{}
	var params *string
	for range maxPages {
		r, err := c.rpc(ctx, contract.RPC{Method: "tools/list", Params: params})
		if err != nil {
			return nil, err
		}
		if r.class != classResult {
			return nil, errors.New(r.describe())
		}
		page, _ := normalise(r.result(), "/result").(map[string]any)
		list, ok := page["tools"].([]any)
		if !ok {
			return nil, errors.New("the result has no array of tools: " + r.describe())
		}
		for _, value := range list {
			tool, ok := value.(map[string]any)
			if !ok {
				return nil, errors.New("a tool is not an object: " + jsondiff.Shorten(jsondiff.Text(value)))
			}
			tools = append(tools, tool)
		}
		cursor, more := page["nextCursor"]
		if !more || cursor == nil {
			return tools, nil
		}
		params = new(`{"cursor":` + jsondiff.Text(cursor) + `}`)
	}
	return nil, fmt.Errorf("there are more than %d pages of tools", maxPages)
}

// Detect asks a target which wire revisions it speaks and whether it gives sessions, and returns it with both filled in. The
// timeout is that of one exchange; 0 for 30 s.
func Detect(ctx context.Context, t Target, timeout time.Duration) (Target, error) {
	t.Profiles, t.Stateful, t.version = nil, false, ""
	w := newWire(t, cmp.Or(timeout, defaultTimeout))
	defer w.close()

	legacy := newClient(w, contract.Revision20251125)
	initialized, err := legacy.initialize(ctx)
	if err != nil {
		return t, fmt.Errorf("%s at %s%s does not answer: %w", t.Name, t.URL, t.mcpPath(), err)
	}
	version, isText := initialized.result()["protocolVersion"].(string)
	if initialized.status == http.StatusOK && isText {
		t.Profiles = append(t.Profiles, contract.Revision20251125)
		t.version = version
		legacy.session = initialized.header.Get("Mcp-Session-Id")
		t.Stateful = legacy.session != ""
		legacy.end(ctx)
	}

	discovered, err := newClient(w, contract.Revision20260728).rpc(ctx, contract.RPC{Method: "server/discover"})
	if err == nil && discovered.status == http.StatusOK && discovered.class == classResult {
		t.Profiles = append(t.Profiles, contract.Revision20260728)
	}
	if len(t.Profiles) == 0 {
		return t, fmt.Errorf("%s at %s%s does not speak MCP over Streamable HTTP: initialize was answered with %s",
			t.Name, t.URL, t.mcpPath(), initialized.describe())
	}
	return t, nil
}
