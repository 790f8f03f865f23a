package experiment_test

import (
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/experiment"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile/schematest"
)

func TestSchema(t *testing.T) {
	schema := schematest.Load(t, root+"/experiments/schema/experiment.schema.json")
	schema.Folder(t, root+"/experiments")
	if err := schema.Validate(t, []byte(valid)); err != nil {
		t.Errorf("a valid file is refused: %v", err)
	}
	name, example := schema.Example(t, root+"/docs/adding-an-experiment.md")
	if _, err := experiment.Parse(name+".yaml", example); err != nil {
		t.Error(err)
	}
	for _, test := range mistakes {
		err := schema.Validate(t, []byte(strings.Replace(valid, test.old, test.new, 1)))
		if (err == nil) != test.parseOnly {
			t.Errorf("%q instead of %q: got %v, wanted an error: %t", test.new, test.old, err, !test.parseOnly)
		}
	}
}
