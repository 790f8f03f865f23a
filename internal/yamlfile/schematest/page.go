package schematest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	block    = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")
	nameLine = regexp.MustCompile(`(?m)^name: ([\w-]+)`)
)

// Example returns the file of this kind that a page shows: the YAML block whose first line names the schema's file. The first result is
// the name that the file gives itself.
func (s Schema) Example(t *testing.T, page string) (name string, text []byte) {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	schema := s.path[strings.LastIndex(s.path, "/")+1:]
	for _, match := range block.FindAllStringSubmatch(string(content), -1) {
		example := regexp.MustCompile("(?m)^"+match[1]).ReplaceAllString(match[2], "")
		if first, _, _ := strings.Cut(example, "\n"); strings.Contains(first, schema) {
			if err := s.Validate(t, []byte(example)); err != nil {
				t.Errorf("%s: the example does not satisfy %s: %v", page, schema, err)
			}
			return nameLine.FindStringSubmatch(example)[1], []byte(example)
		}
	}
	t.Fatalf("%s has no example whose first line names %s", page, schema)
	return "", nil
}
