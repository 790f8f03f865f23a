// Package schematest helps tests to show that the JSON Schema of a YAML file, which editors use, says the same as the package that reads
// the file.
package schematest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-parity/mcp-parity/contract"
)

// Schema is a JSON Schema for a kind of YAML file.
type Schema struct {
	path     string
	compiled *jsonschema.Schema
	document any
}

// Load reads a schema. The test fails if it is none, or if its list of tools is not the contract's.
func Load(t *testing.T, path string) Schema {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	s := Schema{path, compiled, document}
	s.checkTools(t)
	return s
}

func (s Schema) checkTools(t *testing.T) {
	t.Helper()
	tools, err := contract.Tools()
	if err != nil {
		t.Fatal(err)
	}
	var want []any
	for _, tool := range tools {
		want = append(want, tool.Name)
	}
	definition := s.document.(map[string]any)["$defs"].(map[string]any)["tool"].(map[string]any)
	if got := definition["enum"].([]any); !slices.Equal(got, want) {
		t.Errorf("%s: tools are %v, wanted those of the contract, %v", s.path, got, want)
	}
}

// Validate returns what the schema has against a file, or nil.
func (s Schema) Validate(t *testing.T, text []byte) error {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return err
	}
	// Through JSON, because the validator knows JSON's types only.
	asJSON, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(asJSON)); err != nil {
		t.Fatal(err)
	}
	return s.compiled.Validate(value)
}

// Folder checks all YAML files of a folder, and that the first line of each tells editors of the schema.
func (s Schema) Folder(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file in %s (%v)", dir, err)
	}
	reference, err := filepath.Rel(dir, s.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(t, text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if line, _, _ := strings.Cut(string(text), "\n"); line != "# yaml-language-server: $schema="+filepath.ToSlash(reference) {
			t.Errorf("%s: the first line is %q: it tells editors where the schema is, %s", file, line, reference)
		}
	}
}
