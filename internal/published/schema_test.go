package published_test

import (
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/published"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile/schematest"
)

func TestSchema(t *testing.T) {
	schema := schematest.Load(t, root+"/results/published/published.schema.json")
	schema.Folder(t, root+"/results/published")
	if err := schema.Validate(t, []byte(valid)); err != nil {
		t.Errorf("a valid file is refused: %v", err)
	}
	name, example := schema.Example(t, root+"/docs/adding-an-experiment.md")
	if _, err := published.Parse(name+".yaml", example); err != nil {
		t.Error(err)
	}
	for _, test := range mistakes {
		err := schema.Validate(t, []byte(strings.Replace(valid, test.old, test.new, 1)))
		if (err == nil) != test.parseOnly {
			t.Errorf("%q instead of %q: got %v, wanted an error: %t", test.new, test.old, err, !test.parseOnly)
		}
	}
}
