package mcp

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/metrics"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path) // #nosec G304 -- a file of this folder
	require.NoError(t, err)
	return string(data)
}

// The README's table of metrics is what metrics.go defines. When this fails, put the wanted table there.
func TestMetricsTableOfTheReadme(t *testing.T) {
	t.Parallel()
	units := map[metrics.ValueType]string{metrics.Default: "", metrics.Time: ", ms", metrics.Data: ", bytes"}
	var want strings.Builder
	want.WriteString("\n| metric | type | |\n| --- | --- | --- |\n")
	m := &metricSet{}
	for _, d := range m.definitions() {
		fmt.Fprintf(&want, "| `%s` | %s%s | %s |\n", d.name, d.kind, units[d.unit], d.meaning)
	}
	readme := read(t, "README.md")
	_, after, ok := strings.Cut(readme, "metrics.go -->")
	require.True(t, ok)
	got, _, ok := strings.Cut(after, "<!-- end -->")
	require.True(t, ok)
	assert.Equal(t, want.String(), got)
	assert.Contains(t, readme, fmt.Sprintf("| %d metrics, ", len(m.definitions())))
}

// index.d.ts declares what there is, with an example on each method.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	declarations := read(t, "index.d.ts")
	declared := func(name string) []string {
		_, body, ok := strings.Cut(declarations, "export "+name+" {\n")
		require.True(t, ok, name)
		body, _, _ = strings.Cut(body, "\n}\n")
		var members []string
		for _, m := range regexp.MustCompile(`(?m)^  (?:readonly )?(\w+)\??[:(]`).FindAllStringSubmatch(body, -1) {
			members = append(members, m[1])
		}
		members = slices.DeleteFunc(members, func(s string) bool { return s == "constructor" })
		slices.Sort(members)
		return members
	}
	url := everythingURL(t, &sdk.StreamableHTTPOptions{})
	vu := newTestVU(t)
	vu.client(t, url, "{}")
	keys := func(code string) []string {
		keys := strings.Split(vu.run(t, "Object.keys("+code+").sort().join()").String(), ",")
		slices.Sort(keys)
		return keys
	}
	assert.Equal(t, declared("class Client"), keys("client"))
	assert.Equal(t, declared("interface Session"), keys("client.session()"))
	assert.Equal(t, declared("interface Listener"), keys("client.session().listen()"))
	for name, code := range codes {
		assert.Contains(t, declarations, "  "+name+": "+strconv.Itoa(code)+";")
	}

	for _, m := range regexp.MustCompile(`(?s)(/\*\*(?:[^*]|\*[^/])*\*/)\s*(?://[^\n]*\n\s*)?(\w+)\(`).FindAllStringSubmatch(declarations, -1) {
		assert.Contains(t, m[1], "@example", m[2])
	}
}
