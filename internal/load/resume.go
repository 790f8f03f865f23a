package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcp-parity/mcp-parity/internal/result"
)

// CheckConditions says what is not as it was when an unfinished run was interrupted; nil when all that matters is the same. Launches of
// one run are compared with each other, so that all of them must be made under the same conditions. Now is a run that would begin now.
func CheckConditions(run, now *result.Run) error {
	was, err := conditions(run)
	if err != nil {
		return err
	}
	is, err := conditions(now)
	if err != nil {
		return err
	}
	const longest = 100 // of a value to show
	var differences []error
	for _, name := range union(was, is) {
		before, after := orNothing(was[name]), orNothing(is[name])
		switch {
		case before == after:
		case len(before)+len(after) > longest:
			differences = append(differences, fmt.Errorf("%s is not the same any more", name))
		default:
			differences = append(differences, fmt.Errorf("%s was %s, now it is %s", name, before, after))
		}
	}
	return errors.Join(differences...)
}

// conditions are what must stay the same, as JSON by name.
func conditions(run *result.Run) (map[string]json.RawMessage, error) {
	environment := run.Environment
	environment.LoadBefore = 0 // another one each time
	all := map[string]json.RawMessage{}
	for prefix, part := range map[string]any{"experiment": run.Experiment, "budget": run.Budget, "environment": environment} {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			return nil, err
		}
		for name, value := range members {
			all[prefix+"."+name] = value
		}
	}
	return all, nil
}

// union returns the names in either, sorted.
func union(a, b map[string]json.RawMessage) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	return slices.Compact(names)
}

// orNothing shows a value that may be left out of the JSON text.
func orNothing(value json.RawMessage) string {
	if value == nil {
		return "nothing"
	}
	return string(value)
}
