package yamlfile_test

import (
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

type Base struct {
	Size int `yaml:"size"`
}

type entry struct {
	Name string `yaml:"name"`
	Base `yaml:",inline"`
}

type document struct {
	Title   string            `yaml:"title"`
	Entries []entry           `yaml:"entries"`
	First   *entry            `yaml:"first"`
	Env     map[string]string `yaml:"env"`
	Dir     string            `yaml:"-"`
}

const valid = `title: T
entries:
  - name: a
  - name: b
    size: 2
first:
  size: 3
env: {A: "1"}
`

func TestDecode(t *testing.T) {
	var d document
	f, err := yamlfile.Decode("f.yaml", []byte(valid), &d)
	if err != nil {
		t.Fatal(err)
	}
	if d.Entries[1].Size != 2 || d.First.Size != 3 || d.Env["A"] != "1" {
		t.Errorf("got %+v", d)
	}
	for field, want := range map[string]string{
		"title":              "f.yaml:1",
		"entries[1].size":    "f.yaml:5",
		"entries[0].size":    "f.yaml:3", // absent
		"entries[7].size":    "f.yaml:3", // the list begins there
		"env.A":              "f.yaml:8",
		"nothing":            "f.yaml:1",
		"no such (field]...": "f.yaml:1",
	} {
		if got := f.At(field); got != want {
			t.Errorf("%s is at %s, wanted %s", field, got, want)
		}
	}
	for field, want := range map[string]bool{"entries[1].size": true, "entries[0].size": false, "entries[2]": false, "dir": false} {
		if f.Has(field) != want {
			t.Errorf("Has(%s) is %t, wanted %t", field, !want, want)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"title: T", "titel: T", `f.yaml:1: unknown field "titel"; allowed here: title, entries, first, env`},
		{"    size: 2", "    sise: 2", `f.yaml:5: unknown field "sise"; allowed here: name, size`},
		{"first:\n  size", "first:\n  sise", `f.yaml:7: unknown field "sise"; allowed here: name, size`},
		{"first:\n", "title: again\nfirst:\n", "f.yaml:6: "},
		{"size: 3", "size: three", "f.yaml:7: "},
		{"size: 3", "size: [", "f.yaml:"},
		{"env:", "---\nenv:", "f.yaml: holds 2 documents"},
		{"env:", "...\nenv:", "f.yaml: holds 2 documents"},
		{"size: 3", "size: *nowhere", "f.yaml:7: "},
	} {
		text := strings.Replace(valid, test.old, test.new, 1)
		if text == valid {
			t.Fatalf("%q is not in the file", test.old)
		}
		_, err := yamlfile.Decode("f.yaml", []byte(text), &document{})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("with %q: got error %v, wanted one line that begins with %q", test.new, err, test.want)
		}
	}
}

func TestDecodeOfNothing(t *testing.T) {
	if _, err := yamlfile.Decode("f.yaml", nil, &document{}); err != nil {
		t.Error(err)
	}
}
