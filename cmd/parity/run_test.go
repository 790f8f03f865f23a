package main

import (
	"strings"
	"testing"
)

func TestRunCannotRun(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "name an experiment"},
		{"two experiments", []string{"quick", "capacity"}, "at most 1 arg"},
		{"an experiment and a run", []string{"quick", "--resume", "2026-10-01-quick-0a1b2c"}, "name an experiment"},
		{"unknown experiment", []string{"nope"}, "nope"},
		{"unknown run", []string{"--resume", "2026-10-01-quick-0a1b2c"}, "there is no run 2026-10-01-quick-0a1b2c"},
		{"a run and a seed", []string{"--resume", "2026-10-01-quick-0a1b2c", "--seed", "1"}, "[resume seed]"},
		{"a run and a scale", []string{"--resume", "2026-10-01-quick-0a1b2c", "--scale", "0.5"}, "[resume scale]"},
		{"scale 0", []string{"quick", "--scale", "0"}, "--scale: scale is 0"},
		{"scale 2", []string{"quick", "--scale", "2"}, "--scale: scale is 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := root()
			cmd.SetArgs(append([]string{"run", "--backend", "process", "--results", t.TempDir()}, test.args...))
			err := cmd.ExecuteContext(t.Context())
			if got := exitCode(err); got != exitCouldNotRun || !strings.Contains(err.Error(), test.want) {
				t.Errorf("exit code %d and error %v, wanted %d and %q", got, err, exitCouldNotRun, test.want)
			}
		})
	}
}
