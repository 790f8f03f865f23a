package published

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

// Find reads results/published/<name>.yaml under root. For a name that is not there, the error lists those that are.
func Find(root, name string) (*Table, error) {
	dir := filepath.Join(root, "results", "published")
	known, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for i, path := range known {
		known[i] = strings.TrimSuffix(filepath.Base(path), ".yaml")
	}
	if !slices.Contains(known, name) {
		return nil, fmt.Errorf("there is no published table %q: choose from %s, or add results/published/<name>.yaml", name, strings.Join(known, ", "))
	}
	text, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
	if err != nil {
		return nil, err
	}
	return Parse("results/published/"+name+".yaml", text)
}

// Parse reads and checks one file, and computes the ratios of its conclusions. The path is used in errors, which name line and field, and
// for the expected name.
func Parse(path string, text []byte) (*Table, error) {
	var t Table
	f, err := yamlfile.Decode(path, text, &t)
	if err != nil {
		return nil, err
	}
	c := checker{file: f, table: &t}
	c.check(strings.TrimSuffix(filepath.Base(path), ".yaml"))
	return &t, c.err
}

// checker keeps the first thing that is wrong with a file of the right shape.
type checker struct {
	file  yamlfile.File
	table *Table
	err   error
}

// unless adds an error about the field if the condition does not hold.
func (c *checker) unless(ok bool, field, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = fmt.Errorf("%s: `%s` %s", c.file.At(field), field, fmt.Sprintf(format, args...))
	}
}

func (c *checker) check(name string) {
	t := c.table
	c.unless(t.Name == name, "name", "is %q: give it the file's name, %q", t.Name, name)
	for _, text := range []struct{ field, value, what string }{
		{"title", t.Title, "what was compared"},
		{"source", t.Source, "author, title, date, and where to find it"},
		{"method", t.Method, "what the source says of how it measured"},
	} {
		c.unless(text.value != "", text.field, "is missing: say %s", text.what)
	}
	c.unless(len(t.Caveats) > 0, "caveats", "is empty: say what a reader must know, with the evidence")
	c.unless(len(t.Servers) > 1, "servers", "needs two servers or more: there is nothing to compare")
	c.unless(len(t.Conclusions) > 0, "conclusions", "is empty: say what the source concludes, or nothing can be judged")
	for i, s := range t.Servers {
		c.server(fmt.Sprintf("servers[%d]", i), i, s)
	}
	for i, o := range t.Operations {
		c.operation(fmt.Sprintf("operations[%d]", i), i, o)
	}
	for i := range t.Conclusions {
		c.conclusion(fmt.Sprintf("conclusions[%d]", i), &t.Conclusions[i])
	}
}

func (c *checker) server(field string, i int, s Server) {
	c.unless(s.Server != "", field+".server", "is missing: give the name of a server here that is compared with it")
	c.unless(c.table.server(s.Server) == &c.table.Servers[i], field+".server", "is %q a second time: one row for each", s.Server)
	c.unless(s.Title != "", field+".title", "is missing: say what was measured")
	for _, figure := range []string{MeanMS, RequestsPerSecond, CPUPercent, MemoryMB} {
		c.unless(s.figure(figure) > 0, field+"."+figure, "is %g: use the source's figure, which is above 0", s.figure(figure))
	}
}

func (c *checker) operation(field string, i int, o Operation) {
	c.unless(o.Title != "", field+".title", "is missing: use the source's name for it")
	c.unless((o.Tool == "") != (o.Method == ""), field, "needs either `tool` or `method`")
	c.unless(c.table.operation(o.Tool, o.Method) == &c.table.Operations[i], field, "has the tool or method of another row")
	for _, s := range c.table.Servers {
		c.unless(o.MeanMS[s.Server] > 0, field+".mean_ms", "needs a figure above 0 for %s", s.Server)
	}
	for server := range o.MeanMS {
		c.unless(c.table.server(server) != nil, field+".mean_ms."+server, "is of a server that `servers` does not have")
	}
}

func (c *checker) conclusion(field string, of *Conclusion) {
	c.unless(of.Text != "", field+".text", "is missing: say it in a few words")
	c.unless(slices.Contains([]string{MeanMS, RequestsPerSecond, CPUPercent, MemoryMB}, of.Figure), field+".figure",
		"is %q: use %s, %s, %s or %s", of.Figure, MeanMS, RequestsPerSecond, CPUPercent, MemoryMB)
	c.unless(c.table.server(of.Server) != nil, field+".server", "is %q: use one of `servers`", of.Server)
	c.unless(c.table.server(of.Against) != nil && of.Against != of.Server, field+".against", "is %q: use another one of `servers`", of.Against)
	if of.Tool != "" || of.Method != "" {
		c.unless(of.Figure == MeanMS, field+".figure", "is %q: of an operation there is %s only", of.Figure, MeanMS)
		c.unless(c.table.operation(of.Tool, of.Method) != nil, field, "is about an operation that `operations` does not have")
	}
	if c.err == nil {
		of.Ratio = c.table.figure(*of, of.Server) / c.table.figure(*of, of.Against)
	}
}

// figure is what the table has on a conclusion's subject for one server.
func (t *Table) figure(of Conclusion, server string) float64 {
	if o := t.operation(of.Tool, of.Method); o != nil {
		return o.MeanMS[server]
	}
	return t.server(server).figure(of.Figure)
}

func (t *Table) server(name string) *Server {
	i := slices.IndexFunc(t.Servers, func(s Server) bool { return s.Server == name })
	if i < 0 {
		return nil
	}
	return &t.Servers[i]
}

func (t *Table) operation(tool, method string) *Operation {
	i := slices.IndexFunc(t.Operations, func(o Operation) bool { return o.Tool == tool && o.Method == method })
	if i < 0 {
		return nil
	}
	return &t.Operations[i]
}

func (s Server) figure(name string) float64 {
	return map[string]float64{MeanMS: s.MeanMS, RequestsPerSecond: s.RequestsPerSecond, CPUPercent: s.CPUPercent, MemoryMB: s.MemoryMB}[name]
}
