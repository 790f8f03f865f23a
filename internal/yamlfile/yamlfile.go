// Package yamlfile reads YAML files strictly and knows where in them a mistake is.
package yamlfile

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// File is a YAML file that has been read.
type File struct {
	path string
	tree *ast.File
}

// Decode reads text into the struct that into points to. A field that the struct does not have, a field that comes twice and a second
// document are errors. The path is used in errors only; they begin with it and the line, as those of compilers do.
func Decode(path string, text []byte, into any) (File, error) {
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return File{}, located(path, err, "")
	}
	if len(tree.Docs) > 1 {
		return File{}, fmt.Errorf("%s: holds %d documents: put each in a file of its own", path, len(tree.Docs))
	}
	if err := yaml.UnmarshalWithOptions(text, into, yaml.Strict()); err != nil {
		hint := ""
		var unknown *yaml.UnknownFieldError
		if errors.As(err, &unknown) {
			hint = "; allowed here: " + strings.Join(allowed(tree, unknown.Token, reflect.TypeOf(into)), ", ")
		}
		return File{}, located(path, err, hint)
	}
	return File{path, tree}, nil
}

// located puts path and line in front of an error, and leaves out the excerpt of the file that the parser adds for terminals.
func located(path string, err error, hint string) error {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s:%d: %s%s", path, at.GetToken().Position.Line, at.GetMessage(), hint)
}

// Has reports whether a field is written in the file. It is named by its path, such as "workloads[2].tool".
func (f File) Has(field string) bool { return f.line(field) > 0 }

// At returns the file's path and the line of the field, joined by a colon. A field that is absent has no line; that of the nearest one
// around it is the best that there is.
func (f File) At(field string) string {
	for field != "" {
		if line := f.line(field); line > 0 {
			return fmt.Sprintf("%s:%d", f.path, line)
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return f.path + ":1"
}

// line is 0 for a field that is not there.
func (f File) line(field string) int {
	path, err := yaml.PathString("$." + field)
	if err != nil {
		return 0
	}
	node, err := path.FilterFile(f.tree)
	if err != nil || node == nil {
		return 0
	}
	return node.GetToken().Position.Line
}

// allowed lists the fields of the mapping that holds key, in a file of type t.
func allowed(tree *ast.File, key *token.Token, t reflect.Type) []string {
	var path string
	for _, doc := range tree.Docs {
		for _, node := range ast.Filter(ast.MappingValueType, doc.Body) {
			if k := node.(*ast.MappingValueNode).Key; k.GetToken().Position.Offset == key.Position.Offset {
				path = k.GetPath()
			}
		}
	}
	// The path is like $.process.needs[0].comand: follow all but the last step through the types.
	t = element(t)
	steps := strings.Split(path, ".")
	for _, step := range steps[1:max(1, len(steps)-1)] {
		name, _, _ := strings.Cut(step, "[")
		for field, of := range fields(t) {
			if field == name {
				t = element(of)
				break
			}
		}
	}
	var names []string
	for name := range fields(t) {
		names = append(names, name)
	}
	return names
}

// element is the type of the structs in a list, or behind a pointer.
func element(t reflect.Type) reflect.Type {
	for slices.Contains([]reflect.Kind{reflect.Slice, reflect.Pointer, reflect.Map}, t.Kind()) {
		t = t.Elem()
	}
	return t
}

// fields yields name and type of each field of a struct as YAML knows them, those of inlined structs too.
func fields(t reflect.Type) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		if t.Kind() != reflect.Struct {
			return
		}
		for _, f := range reflect.VisibleFields(t) {
			name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case name == "-" || len(f.Index) > 1: // a promoted field comes with the struct that it is promoted from
			case option == "inline":
				for name, of := range fields(element(f.Type)) {
					if !yield(name, of) {
						return
					}
				}
			case !yield(name, f.Type):
				return
			}
		}
	}
}
