// Package verify recomputes a run from its raw files and says where the run's folder tells something else.
//
// What can follow from something else in the folder is made again and must be the same: the list of checksums, the order of the
// launches from the seed, what was observed in each launch from its raw files, the rates of a search from what came of those before, the
// verdicts, the figures, their intervals and the noise floor from those and the histograms, and the report. The launches of a run that was
// interrupted are the first ones of the order.
package verify

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-parity/mcp-parity/internal/jsondiff"
	"github.com/mcp-parity/mcp-parity/internal/report"
	"github.com/mcp-parity/mcp-parity/internal/result"
	"github.com/mcp-parity/mcp-parity/internal/stats"
	"github.com/mcp-parity/mcp-parity/results/schema"
)

// Difference is one place where a run's folder is not what it must be.
type Difference struct {
	// File is relative to the run's folder, with slashes.
	File string
	// Place is where in the file: a JSON pointer, or "line 7"; empty for the file as a whole.
	Place string
	// Problem says what is there and what must be.
	Problem string
}

func (d Difference) String() string {
	if d.Place == "" {
		return d.File + ": " + d.Problem
	}
	return d.File + " " + d.Place + ": " + d.Problem
}

// Result is what was checked and what was found.
type Result struct {
	// Files, Launches and Cells count what was checked.
	Files, Launches, Cells int
	Differences            []Difference
}

func (r *Result) add(file, place, problem string, args ...any) {
	r.Differences = append(r.Differences, Difference{file, place, fmt.Sprintf(problem, args...)})
}

// Folder checks the run in that folder. The error is for a folder that cannot be read or is not that of a run; whatever else is
// wrong is a difference.
func Folder(dir string) (*Result, error) {
	dir, err := filepath.Abs(dir) // "." has no name to compare with the run's ID
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if err := r.checksums(dir); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, result.RunFile))
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(r.Differences) > 0:
		return r, nil // the list of checksums has named it
	case errors.Is(err, fs.ErrNotExist):
		return nil, result.NotARun(dir)
	case err != nil:
		return nil, fmt.Errorf("read the run: %w", err)
	}
	stored, err := jsondiff.Parse(text)
	if err != nil {
		r.add(result.RunFile, "", "not JSON: %v", err)
		return r, nil
	}
	if members, ok := stored.(map[string]any); ok && members["schema_version"] != nil && fmt.Sprint(members["schema_version"]) != fmt.Sprint(result.SchemaVersion) {
		r.add(result.RunFile, "/schema_version", "stored %v, wanted %d: verify it with the release of mcp-parity that made it", members["schema_version"], result.SchemaVersion)
		return r, nil
	}
	if ok, err := r.schema(stored); !ok || err != nil {
		return r, err // what does not have the form of a run cannot be recomputed
	}
	run, err := result.ReadJSON(bytes.NewReader(text))
	if err != nil {
		r.add(result.RunFile, "", "%v", err)
		return r, nil
	}
	if name := filepath.Base(dir); run.ID != name {
		r.add(result.RunFile, "/id", "stored %s, but the folder's name is %s", run.ID, name)
	}
	if err := r.recompute(dir, stored, text); err != nil {
		return nil, err
	}
	return r, r.report(dir, run)
}

// checksums compares the files of the folder with their list.
func (r *Result) checksums(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, result.SumsFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, result.RunFile)); err != nil {
			return result.NotARun(dir)
		}
		r.add(result.SumsFile, "", "missing")
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the checksums: %w", err)
	}
	listed, err := result.ParseChecksums(text)
	if err != nil {
		r.add(result.SumsFile, "", "%v", err)
		return nil
	}
	actual, err := result.Checksums(dir)
	if err != nil {
		return fmt.Errorf("compute the checksums: %w", err)
	}
	r.Files = len(actual)
	names := maps.Clone(listed)
	maps.Copy(names, actual)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		want, isListed := listed[name]
		got, exists := actual[name]
		switch {
		case !exists:
			r.add(name, "", "missing, but %s lists it", result.SumsFile)
		case !isListed:
			r.add(name, "", "extra: %s does not list it", result.SumsFile)
		case got != want:
			r.add(name, "", "altered: its SHA-256 is %s, %s has %s", got, result.SumsFile, want)
		}
	}
	return nil
}

// schema checks the form of run.json and reports whether it is right.
func (r *Result) schema(run any) (ok bool, err error) {
	definition, err := jsondiff.Parse(schema.Run)
	if err != nil {
		return false, fmt.Errorf("the schema of %s: %w", result.RunFile, err)
	}
	const location = "run.schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(location, definition); err != nil {
		return false, fmt.Errorf("the schema of %s: %w", result.RunFile, err)
	}
	compiled, err := compiler.Compile(location)
	if err != nil {
		return false, fmt.Errorf("the schema of %s: %w", result.RunFile, err)
	}
	err = compiled.Validate(run)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err == nil, err
	}
	for _, v := range jsondiff.Violations(invalid) {
		r.add(result.RunFile, v.Pointer, "does not satisfy results/schema/run.schema.json: %s", v.Text)
	}
	return false, nil
}

// recompute makes the run again from its raw files and compares it with what is stored, which is the text parsed.
func (r *Result) recompute(dir string, stored any, text []byte) error {
	run, err := result.ReadJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	e := run.Experiment
	for i, w := range e.Workloads {
		if !slices.Contains(w.Subjects, w.Reference) {
			r.add(result.RunFile, fmt.Sprintf("/experiment/workloads/%d/reference", i), "stored %s, which is not one of the subjects", w.Reference)
			return nil
		}
	}
	plan := e.Plan(run.Seed)
	if got, most := len(run.Launches), len(plan); got > most || got < most && run.Status == result.Complete {
		r.add(result.RunFile, "/launches", "stored %d launches of a %s run, but the experiment has %d", got, run.Status, most)
		return nil
	}
	if len(run.Launches) == len(plan) {
		run.Status = result.Complete
	}
	folders := map[string]int{}
	for i := range run.Launches {
		l := &run.Launches[i]
		if other, again := folders[l.Folder]; again {
			r.add(result.RunFile, fmt.Sprintf("/launches/%d/folder", i), "stored %s, which is the folder of launch %d too", l.Folder, other)
		}
		folders[l.Folder] = l.Number
		p := plan[i]
		l.Number, l.Block, l.Subject, l.Workload, l.Again = p.Number, p.Block, p.Subject, p.Workload, p.Again
		r.observe(dir, e.WorkloadOf(l.Subject, l.Workload), run.Budget, i, l)
	}
	if err := stats.Summarise(run, dir); err != nil {
		return fmt.Errorf("recompute the figures: %w", err)
	}
	r.Launches, r.Cells = len(run.Launches), len(run.Cells)
	var again bytes.Buffer
	if err := run.WriteJSON(&again); err != nil {
		return err
	}
	recomputed, err := jsondiff.Parse(again.Bytes())
	if err != nil {
		return err
	}
	for _, d := range jsondiff.Compare(recomputed, stored) {
		want, got := d.Texts()
		r.add(result.RunFile, d.Pointer, "stored %s, recomputed %s", got, want)
	}
	return nil
}

// report compares the report with what is made of the run.
func (r *Result) report(dir string, run *result.Run) error {
	text, err := os.ReadFile(filepath.Join(dir, result.ReportFile))
	if errors.Is(err, fs.ErrNotExist) {
		if !slices.ContainsFunc(r.Differences, func(d Difference) bool { return d.File == result.ReportFile }) {
			r.add(result.ReportFile, "", "missing")
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the report: %w", err)
	}
	stored, recomputed := strings.Split(string(text), "\n"), strings.Split(report.Markdown(run), "\n")
	for i := range max(len(stored), len(recomputed)) {
		if got, want := line(stored, i), line(recomputed, i); got != want {
			r.add(result.ReportFile, fmt.Sprintf("line %d", i+1), "stored %s, recomputed %s", got, want)
		}
	}
	return nil
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return fmt.Sprintf("%q", lines[i])
	}
	return "no such line"
}
