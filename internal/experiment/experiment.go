// Package experiment reads what is measured from experiments/*.yaml and plans the launches. An experiment is data: it
// names subjects, workloads and a load shape, and knows nothing of how they are run.
package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Experiment is one file of experiments/.
type Experiment struct {
	// Name is the file's name without extension.
	Name string `yaml:"name" json:"name"`
	// Title says in a few words what is compared.
	Title string `yaml:"title" json:"title"`
	// Subjects are servers, or variants of them: "go", "go/stateful". Tables keep this order.
	Subjects []string `yaml:"subjects" json:"subjects"`
	// Reference is the subject to which the others are related.
	Reference string `yaml:"reference" json:"reference"`
	Load      Load   `yaml:"load" json:"load"`
	// Launches is how often each subject is started afresh for each workload.
	Launches  int        `yaml:"launches" json:"launches"`
	Workloads []Workload `yaml:"workloads" json:"workloads"`
}

// ShapeClosed is the load shape in which each user sends the next call as soon as the last one is answered.
const ShapeClosed = "closed"

// Load is how calls arrive.
type Load struct {
	// Shape is ShapeClosed.
	Shape string `yaml:"shape" json:"shape"`
	// Users is the number of virtual users, each with one session.
	Users int `yaml:"users" json:"users"`
	// Warmup is how long calls are made before any is counted.
	Warmup Duration `yaml:"warmup" json:"warmup"`
	// Duration is how long calls are counted.
	Duration Duration `yaml:"duration" json:"duration"`
}

// Script returns the path of the k6 script for the load's shape, below the project's root.
func (l Load) Script(root string) string {
	return filepath.Join(root, "experiments", "scripts", l.Shape+".js")
}

// Workload is the call that every user makes, over and over. One of Tool and Method is set.
type Workload struct {
	Name string `yaml:"name" json:"name"`
	// Tool is called through tools/call with Arguments.
	Tool      string         `yaml:"tool" json:"tool,omitempty"`
	Arguments map[string]any `yaml:"arguments" json:"arguments,omitempty"`
	// Method is MethodListTools.
	Method string `yaml:"method" json:"method,omitempty"`
}

// MethodListTools is the only method other than tools/call that can be a workload.
const MethodListTools = "tools/list"

// Duration is written as in Go: "9s", "1m30s".
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// Seconds returns the duration as a number of seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration: write it like 9s or 1m30s", text)
	}
	*d = Duration(parsed)
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler, so that an error knows its line.
func (d *Duration) UnmarshalYAML(node ast.Node) error {
	if err := d.UnmarshalText([]byte(node.GetToken().Value)); err != nil {
		return &yaml.SyntaxError{Message: err.Error(), Token: node.GetToken()}
	}
	return nil
}

// Find reads experiments/<name>.yaml under root. For a name that is not there, the error lists those that are.
func Find(root, name string) (Experiment, error) {
	dir := filepath.Join(root, "experiments")
	known, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return Experiment{}, err
	}
	for i, path := range known {
		known[i] = strings.TrimSuffix(filepath.Base(path), ".yaml")
	}
	if !slices.Contains(known, name) {
		return Experiment{}, fmt.Errorf("there is no experiment %q: choose from %s, or add experiments/<name>.yaml", name, strings.Join(known, ", "))
	}
	text, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
	if err != nil {
		return Experiment{}, err
	}
	return Parse("experiments/"+name+".yaml", text)
}

// Parse reads and checks one file. The path is used in errors, which name line and field, and for the expected name.
func Parse(path string, text []byte) (Experiment, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return Experiment{}, located(path, err)
	}
	var e Experiment
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&e); err != nil {
		return Experiment{}, located(path, err)
	}
	if want := strings.TrimSuffix(filepath.Base(path), ".yaml"); e.Name != want {
		err = fieldError{"name", fmt.Sprintf("is %q: give it the file's name, %q", e.Name, want)}
	} else {
		err = e.check()
	}
	var field fieldError
	if errors.As(err, &field) {
		return Experiment{}, fmt.Errorf("%s:%d: %w", path, line(file, field.field), field)
	}
	return e, err
}

// located puts the path and line of a YAML error in front of its message, as compilers do.
func located(path string, err error) error {
	var positioned yaml.Error
	if errors.As(err, &positioned) {
		return fmt.Errorf("%s:%d: %s", path, positioned.GetToken().Position.Line, positioned.GetMessage())
	}
	return fmt.Errorf("%s: %w", path, err)
}

// line returns where a field is written, or else the nearest field around it.
func line(file *ast.File, field string) int {
	for field != "" {
		if path, err := yaml.PathString("$." + field); err == nil {
			if node, err := path.FilterFile(file); err == nil && node != nil {
				return node.GetToken().Position.Line
			}
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return 1
}

// fieldError is a field with a wrong value. The field is written as a path, such as "workloads[2].tool".
type fieldError struct{ field, problem string }

func (e fieldError) Error() string { return "`" + e.field + "` " + e.problem }

var workloadName = regexp.MustCompile(`^[a-z0-9][a-z0-9_]*$`) // it becomes part of a folder's name

func (e Experiment) check() error {
	switch {
	case e.Title == "":
		return fieldError{"title", "is missing: say in a few words what is compared"}
	case len(e.Subjects) == 0:
		return fieldError{"subjects", "is empty: name the servers to compare, such as [go, node]"}
	case !slices.Contains(e.Subjects, e.Reference):
		return fieldError{"reference", fmt.Sprintf("is %q: use one of the subjects, %s", e.Reference, strings.Join(e.Subjects, ", "))}
	case e.Load.Shape != ShapeClosed:
		return fieldError{"load.shape", fmt.Sprintf("is %q: use %s", e.Load.Shape, ShapeClosed)}
	case e.Load.Users < 1 || e.Load.Users > 10_000:
		return fieldError{"load.users", fmt.Sprintf("is %d: use 1 to 10000", e.Load.Users)}
	case e.Load.Warmup < 0:
		return fieldError{"load.warmup", fmt.Sprintf("is %s: use 0s or more", e.Load.Warmup)}
	case e.Load.Duration < Duration(time.Second):
		// The load generator states its window in milliseconds, and CPU counters of processes tick at 10 ms.
		return fieldError{"load.duration", fmt.Sprintf("is %s: use 1s or more", e.Load.Duration)}
	case e.Launches < 1 || e.Launches > 1000:
		return fieldError{"launches", fmt.Sprintf("is %d: use 1 to 1000", e.Launches)}
	case len(e.Workloads) == 0:
		return fieldError{"workloads", "is empty: give at least one"}
	}
	for i, id := range e.Subjects {
		if slices.Contains(e.Subjects[:i], id) {
			return fieldError{fmt.Sprintf("subjects[%d]", i), fmt.Sprintf("is %q a second time: name each subject once", id)}
		}
	}
	for i, w := range e.Workloads {
		field := fmt.Sprintf("workloads[%d]", i)
		switch {
		case !workloadName.MatchString(w.Name):
			return fieldError{field + ".name", fmt.Sprintf("is %q: use lower-case letters, digits and underscores", w.Name)}
		case slices.ContainsFunc(e.Workloads[:i], func(o Workload) bool { return o.Name == w.Name }):
			return fieldError{field + ".name", fmt.Sprintf("is %q a second time: names of workloads are unique", w.Name)}
		case (w.Tool == "") == (w.Method == ""):
			return fieldError{field, "needs either `tool` or `method`"}
		case w.Method != "" && w.Method != MethodListTools:
			return fieldError{field + ".method", fmt.Sprintf("is %q: use %s, or `tool` for a tool call", w.Method, MethodListTools)}
		case w.Method != "" && w.Arguments != nil:
			return fieldError{field + ".arguments", "goes with `tool` only"}
		}
	}
	return nil
}

// Workload returns the workload of that name, which must be one of the experiment's.
func (e Experiment) Workload(name string) Workload {
	return e.Workloads[slices.IndexFunc(e.Workloads, func(w Workload) bool { return w.Name == name })]
}

// ArgumentsJSON returns the arguments as JSON text: {} when there are none.
func (w Workload) ArgumentsJSON() (json.RawMessage, error) {
	if w.Arguments == nil {
		return json.RawMessage("{}"), nil
	}
	text, err := json.Marshal(w.Arguments)
	if err != nil {
		return nil, fmt.Errorf("workload %s: arguments: %w", w.Name, err)
	}
	return text, nil
}
