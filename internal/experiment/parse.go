package experiment

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-parity/mcp-parity/contract"
	"github.com/mcp-parity/mcp-parity/internal/jsondiff"
	"github.com/mcp-parity/mcp-parity/internal/published"
	"github.com/mcp-parity/mcp-parity/internal/subject"
	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

// file is a file of experiments/ as it is written.
type file struct {
	Name      string         `yaml:"name"`
	Title     string         `yaml:"title"`
	Published string         `yaml:"published"`
	Default   settings       `yaml:",inline"`
	Workloads []fileWorkload `yaml:"workloads"`
}

// settings are those that a workload has for itself or takes from the whole experiment.
type settings struct {
	Subjects  []string  `yaml:"subjects"`
	Reference string    `yaml:"reference"`
	Launches  *int      `yaml:"launches"`
	Load      *fileLoad `yaml:"load"`
	Revision  string    `yaml:"revision"`
	Sessions  string    `yaml:"sessions"`
}

// fileWorkload has either Calls or, if an iteration is one call, that call.
type fileWorkload struct {
	Name  string   `yaml:"name"`
	Own   settings `yaml:",inline"`
	One   Call     `yaml:",inline"`
	Calls *[]Call  `yaml:"calls"` // nil when absent: an empty list is a session without calls
}

// fileLoad tells what is absent from what is 0.
type fileLoad struct {
	Shape     *string            `yaml:"shape"`
	Users     *int               `yaml:"users"`
	Ramp      *yamlfile.Duration `yaml:"ramp"`
	Sleep     *yamlfile.Duration `yaml:"sleep"`
	Rate      *int               `yaml:"rate"`
	Objective *Objective         `yaml:"objective"`
	Warmup    *yamlfile.Duration `yaml:"warmup"`
	Limit     *yamlfile.Duration `yaml:"warmup_limit"`
	Duration  *yamlfile.Duration `yaml:"duration"`
}

// Defaults of settings that a file need not have.
const (
	defaultRevision = contract.Revision20251125
	defaultSessions = SessionsPerUser
)

// Find reads experiments/<name>.yaml under root, checks that the subjects and the published table that it names are there, and takes the
// subjects' own warm-ups. For a name that is not there, the error lists those that are.
func Find(root, name string) (Experiment, error) {
	known, err := names(root)
	if err != nil {
		return Experiment{}, err
	}
	if !slices.Contains(known, name) {
		return Experiment{}, fmt.Errorf("there is no experiment %q: choose from %s, or add experiments/<name>.yaml", name, strings.Join(known, ", "))
	}
	text, err := os.ReadFile(filepath.Join(root, "experiments", name+".yaml"))
	if err != nil {
		return Experiment{}, err
	}
	e, f, err := parse("experiments/"+name+".yaml", text)
	if err != nil {
		return Experiment{}, err
	}
	err = e.resolve(root, f)
	return e, err
}

// All reads every experiment under root, in the order of their names. The error holds the first mistake of every file.
func All(root string) ([]Experiment, error) {
	known, err := names(root)
	if err != nil {
		return nil, err
	}
	var all []Experiment
	var errs []error
	for _, name := range known {
		e, err := Find(root, name)
		all, errs = append(all, e), append(errs, err)
	}
	return all, errors.Join(errs...)
}

func names(root string) ([]string, error) {
	known, err := filepath.Glob(filepath.Join(root, "experiments", "*.yaml"))
	for i, path := range known {
		known[i] = strings.TrimSuffix(filepath.Base(path), ".yaml")
	}
	return known, err
}

// Parse reads and checks one file. The path is used in errors, which name line and field, and for the expected name. Whether there are such
// subjects is not known here: see Find.
func Parse(path string, text []byte) (Experiment, error) {
	e, _, err := parse(path, text)
	return e, err
}

func parse(path string, text []byte) (Experiment, yamlfile.File, error) {
	var content file
	f, err := yamlfile.Decode(path, text, &content)
	if err != nil {
		return Experiment{}, f, err
	}
	e, err := content.experiment(f, strings.TrimSuffix(filepath.Base(path), ".yaml"))
	return e, f, located(f, err)
}

// fieldError is a field with a wrong value. The field is written as a path, such as "workloads[2].tool".
type fieldError struct{ field, problem string }

func (e fieldError) Error() string { return "`" + e.field + "` " + e.problem }

func wrong(field, format string, args ...any) error {
	return fieldError{field, fmt.Sprintf(format, args...)}
}

func located(f yamlfile.File, err error) error {
	var field fieldError
	if errors.As(err, &field) {
		return fmt.Errorf("%s: %w", f.At(field.field), field)
	}
	return err
}

func (c file) experiment(f yamlfile.File, name string) (Experiment, error) {
	switch {
	case c.Name != name:
		return Experiment{}, wrong("name", "is %q: give it the file's name, %q", c.Name, name)
	case c.Title == "":
		return Experiment{}, wrong("title", "is missing: say in a few words what is compared")
	case len(c.Workloads) == 0:
		return Experiment{}, wrong("workloads", "is empty: give at least one")
	}
	e := Experiment{Name: c.Name, Title: c.Title, Published: c.Published, Scale: 1}
	order := slices.Clone(c.Default.Subjects)
	for i, own := range c.Workloads {
		if slices.ContainsFunc(e.Workloads, func(w Workload) bool { return w.Name == own.Name }) {
			return Experiment{}, wrong(fmt.Sprintf("workloads[%d].name", i), "is %q a second time: names of workloads are unique", own.Name)
		}
		w, err := own.workload(c.Default, place{f, fmt.Sprintf("workloads[%d]", i)})
		if err != nil {
			return Experiment{}, err
		}
		e.Workloads = append(e.Workloads, w)
		for _, s := range w.Subjects {
			if !slices.Contains(order, s) {
				order = append(order, s)
			}
			if !slices.Contains(e.Subjects, s) {
				e.Subjects = append(e.Subjects, s)
			}
		}
	}
	inOrder := func(a, b string) int { return cmp.Compare(slices.Index(order, a), slices.Index(order, b)) }
	slices.SortFunc(e.Subjects, inOrder)
	for _, w := range e.Workloads {
		slices.SortFunc(w.Subjects, inOrder)
	}
	return e, nil
}

// place is a workload in a file.
type place struct {
	file yamlfile.File
	path string
}

// of returns the path of a setting where it is written: in the workload, or else for the whole experiment.
func (p place) of(setting string) string {
	if own := p.path + "." + setting; p.file.Has(own) {
		return own
	}
	return setting
}

var workloadName = regexp.MustCompile(`^[a-z0-9][a-z0-9_]*$`) // it becomes part of a folder's name

// workload fills in what the workload takes from the whole experiment, and checks the result.
func (c fileWorkload) workload(d settings, at place) (Workload, error) {
	if !workloadName.MatchString(c.Name) {
		return Workload{}, wrong(at.path+".name", "is %q: use lower-case letters, digits and underscores", c.Name)
	}
	w := Workload{
		Name:      c.Name,
		Subjects:  slices.Clone(c.Own.Subjects),
		Reference: cmp.Or(c.Own.Reference, d.Reference),
		Revision:  cmp.Or(c.Own.Revision, d.Revision, defaultRevision),
		Sessions:  cmp.Or(c.Own.Sessions, d.Sessions, defaultSessions),
	}
	if w.Subjects == nil {
		w.Subjects = slices.Clone(d.Subjects)
	}
	if n := cmp.Or(c.Own.Launches, d.Launches); n != nil {
		w.Launches = *n
	}
	if err := w.checkSettings(at); err != nil {
		return Workload{}, err
	}
	path := func(field string) string { return at.of("load" + field) }
	if c.Own.Load != nil && c.Own.Load.Shape != nil {
		path = func(field string) string { return at.path + ".load" + field }
	}
	var err error
	if w.Load, err = merge(c.Own.Load, d.Load).load(path); err != nil {
		return Workload{}, err
	}
	w.Calls, err = c.calls(w, at)
	return w, err
}

func (w Workload) checkSettings(at place) error {
	switch {
	case len(w.Subjects) == 0:
		return wrong(at.of("subjects"), "is empty: name the servers to compare, such as [go, node]")
	case !slices.Contains(w.Subjects, w.Reference):
		return wrong(at.of("reference"), "is %q: use one of the subjects of workload %s, %s", w.Reference, w.Name, strings.Join(w.Subjects, ", "))
	case w.Launches < 1 || w.Launches > 1000:
		return wrong(at.of("launches"), "is %d: use 1 to 1000", w.Launches)
	case w.Revision != contract.Revision20251125 && w.Revision != contract.Revision20260728:
		return wrong(at.of("revision"), "is %q: use %s or %s", w.Revision, contract.Revision20251125, contract.Revision20260728)
	case w.Sessions != SessionsPerUser && w.Sessions != SessionsPerCall:
		return wrong(at.of("sessions"), "is %q: use %s or %s", w.Sessions, SessionsPerUser, SessionsPerCall)
	case w.Sessions == SessionsPerCall && w.Revision == contract.Revision20260728:
		return wrong(at.of("sessions"), "is %s, but revision %s has no sessions: use %s", SessionsPerCall, w.Revision, SessionsPerUser)
	}
	for i, id := range w.Subjects {
		if slices.Contains(w.Subjects[:i], id) {
			return wrong(fmt.Sprintf("%s[%d]", at.of("subjects"), i), "is %q a second time: name each subject once", id)
		}
	}
	return nil
}

// merge returns the workload's own load. One that names its shape stands for itself, any other has what it lacks from the default.
func merge(own, def *fileLoad) *fileLoad {
	if own == nil || def == nil || own.Shape != nil {
		return cmp.Or(own, def)
	}
	return &fileLoad{
		Shape:     def.Shape,
		Users:     cmp.Or(own.Users, def.Users),
		Ramp:      cmp.Or(own.Ramp, def.Ramp),
		Sleep:     cmp.Or(own.Sleep, def.Sleep),
		Rate:      cmp.Or(own.Rate, def.Rate),
		Objective: cmp.Or(own.Objective, def.Objective),
		Warmup:    cmp.Or(own.Warmup, def.Warmup),
		Limit:     cmp.Or(own.Limit, def.Limit),
		Duration:  cmp.Or(own.Duration, def.Duration),
	}
}

// minSearchWarmup has a whole second in it, wherever it begins.
const minSearchWarmup = yamlfile.Duration(2 * time.Second)

// minStep is the shortest time for which a rate can be tried: the second in which it begins and the one in which it ends do not count.
const minStep = 3 * time.Second

// load checks the load. Errors name fields by their paths, which path makes of a dot and their names.
func (l *fileLoad) load(path func(field string) string) (Load, error) {
	if l == nil {
		return Load{}, wrong(path(""), "is missing: say how calls arrive, such as {shape: closed, users: 10, warmup: 5s, duration: 30s}")
	}
	out := Load{
		Shape: value(l.Shape), Users: value(l.Users), Ramp: value(l.Ramp), Sleep: value(l.Sleep), Rate: value(l.Rate), Objective: l.Objective,
		Warmup: value(l.Warmup), WarmupLimit: value(l.Limit), Duration: value(l.Duration),
	}
	if !slices.Contains([]string{ShapeClosed, ShapeOpen, ShapeSearch}, out.Shape) {
		return Load{}, wrong(path(".shape"), "is %q: use %s, %s or %s", out.Shape, ShapeClosed, ShapeOpen, ShapeSearch)
	}
	for _, f := range []struct {
		field, shape string
		given        bool
	}{
		{"ramp", ShapeClosed, l.Ramp != nil},
		{"sleep", ShapeClosed, l.Sleep != nil},
		{"rate", ShapeOpen, l.Rate != nil},
		{"objective", ShapeSearch, l.Objective != nil},
	} {
		if f.given && f.shape != out.Shape {
			return Load{}, wrong(path("."+f.field), "goes with `shape: %s` only, and this is %s", f.shape, out.Shape)
		}
	}
	switch {
	case out.Users < 1 || out.Users > 10_000:
		return Load{}, wrong(path(".users"), "is %d: use 1 to 10000", out.Users)
	case l.Warmup == nil:
		return Load{}, wrong(path(".warmup"), "is missing: use 0s or more")
	case !wholeSeconds(out.Warmup, 0):
		return Load{}, wrong(path(".warmup"), "is %s: use whole seconds, 0s or more", out.Warmup)
	case l.Limit != nil && out.Shape == ShapeOpen:
		return Load{}, wrong(path(".warmup_limit"), "goes with `shape: %s` and `shape: %s` only: make `warmup` long enough", ShapeClosed, ShapeSearch)
	case l.Limit != nil && (!wholeSeconds(out.WarmupLimit, 0) || out.WarmupLimit < out.Warmup):
		return Load{}, wrong(path(".warmup_limit"), "is %s: use whole seconds, %s or more, which is `warmup`", out.WarmupLimit, out.Warmup)
	case !wholeSeconds(out.Duration, time.Second):
		return Load{}, wrong(path(".duration"), "is %s: use whole seconds, 1s or more", out.Duration)
	case out.Ramp < 0 || out.Ramp > out.Warmup:
		return Load{}, wrong(path(".ramp"), "is %s: use 0s to %s, so that all users have started when the warm-up ends", out.Ramp, out.Warmup)
	case out.Sleep < 0 || out.Sleep > yamlfile.Duration(time.Minute):
		return Load{}, wrong(path(".sleep"), "is %s: use 0s to 1m", out.Sleep)
	case out.Shape == ShapeOpen && (out.Rate < 1 || out.Rate > 1_000_000):
		return Load{}, wrong(path(".rate"), "is %d: use 1 to 1000000 iterations a second", out.Rate)
	case out.Shape == ShapeSearch && out.Warmup < minSearchWarmup:
		return Load{}, wrong(path(".warmup"), "is %s: use %s or more: a search starts from the rate in the last whole seconds of its warm-up",
			out.Warmup, minSearchWarmup)
	case out.Shape == ShapeSearch && out.Objective == nil:
		return Load{}, wrong(path(".objective"), "is missing: say what a rate must meet, such as {percentile: 99, latency: 50ms, step: 4s}")
	case out.Objective == nil:
		return out, nil
	}
	switch o := out.Objective; {
	case o.Percentile < 1 || o.Percentile >= 100:
		return Load{}, wrong(path(".objective")+".percentile", "is %g: use 1 or more and less than 100", o.Percentile)
	case o.Latency < yamlfile.Duration(time.Millisecond) || o.Latency > yamlfile.Duration(time.Minute):
		return Load{}, wrong(path(".objective")+".latency", "is %s: use 1ms to 1m", o.Latency)
	case !wholeSeconds(o.Step, minStep):
		return Load{}, wrong(path(".objective")+".step", "is %s: use whole seconds, %s or more", o.Step, minStep)
	}
	return out, nil
}

// wholeSeconds is what windows consist of.
func wholeSeconds(d yamlfile.Duration, least time.Duration) bool {
	return time.Duration(d) >= least && time.Duration(d)%time.Second == 0
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// calls returns the calls of an iteration.
func (c fileWorkload) calls(w Workload, at place) ([]Call, error) {
	one := c.One.Tool != "" || c.One.Method != "" || c.One.Arguments != nil
	switch {
	case one && c.Calls != nil:
		return nil, wrong(at.path+".calls", "and a call beside it: use one of them")
	case one:
		return []Call{c.One}, c.One.check(at.path)
	case c.Calls == nil:
		return nil, wrong(at.path, "needs `tool`, `method` or `calls`")
	case len(*c.Calls) == 0 && w.Sessions != SessionsPerCall:
		return nil, wrong(at.path+".calls", "is empty: give a call, or `sessions: %s` to open and close sessions only", SessionsPerCall)
	}
	for i, call := range *c.Calls {
		if err := call.check(fmt.Sprintf("%s.calls[%d]", at.path, i)); err != nil {
			return nil, err
		}
	}
	return *c.Calls, nil
}

func (c Call) check(field string) error {
	switch {
	case (c.Tool == "") == (c.Method == ""):
		return wrong(field, "needs either `tool` or `method`")
	case c.Method != "" && c.Method != MethodListTools:
		return wrong(field+".method", "is %q: use %s, or `tool` for a tool call", c.Method, MethodListTools)
	case c.Method != "" && c.Arguments != nil:
		return wrong(field+".arguments", "goes with `tool` only")
	case c.Method != "":
		return nil
	}
	tools, err := contract.Tools()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tools, func(t contract.Tool) bool { return t.Name == c.Tool })
	if i < 0 {
		var known []string
		for _, t := range tools {
			known = append(known, t.Name)
		}
		return wrong(field+".tool", "is %q: use %s", c.Tool, strings.Join(known, ", "))
	}
	return c.checkArguments(field+".arguments", tools[i].InputSchema)
}

// checkArguments compares the arguments with the tool's schema: a server would refuse them, long after the start of a run.
func (c Call) checkArguments(field string, inputSchema []byte) error {
	text, err := c.ArgumentsJSON()
	if err != nil {
		return wrong(field, "cannot be written as JSON: %v", err)
	}
	arguments, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(inputSchema))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(c.Tool, document); err != nil {
		return err
	}
	schema, err := compiler.Compile(c.Tool)
	if err != nil {
		return err
	}
	err = schema.Validate(arguments)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	first := jsondiff.Violations(invalid)[0]
	return wrong(field+strings.ReplaceAll(first.Pointer, "/", "."), "do not fit %s: %s", c.Tool, first.Text)
}

// resolve checks what the file says of other files, and takes from them what belongs to the experiment.
func (e *Experiment) resolve(root string, f yamlfile.File) error {
	if e.Published != "" {
		if _, err := published.Find(root, e.Published); err != nil {
			return located(f, wrong("published", "is %q: %v", e.Published, err))
		}
	}
	subjects, err := subject.Discover(root)
	if err != nil {
		return err
	}
	profiles := map[string][]string{}
	e.Warmups = map[string]yamlfile.Duration{}
	for _, s := range subjects {
		for _, t := range s.Targets() {
			profiles[t.ID()] = t.Profiles()
			if t.Warmup > 0 && slices.Contains(e.Subjects, t.ID()) {
				e.Warmups[t.ID()] = t.Warmup
			}
		}
	}
	for i, w := range e.Workloads {
		at := place{f, fmt.Sprintf("workloads[%d]", i)}
		for _, id := range w.Subjects {
			if served, ok := profiles[id]; !ok {
				known := slices.Sorted(maps.Keys(profiles))
				return located(f, wrong(at.of("subjects"), "names %q: use %s", id, strings.Join(known, ", ")))
			} else if !slices.Contains(served, w.Revision) {
				return located(f, wrong(at.of("revision"), "is %s, which %s does not serve: it has %s", w.Revision, id, strings.Join(served, ", ")))
			}
		}
	}
	return nil
}
