package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/subject"
)

var (
	versionNumber = regexp.MustCompile(`[0-9]+(\.[0-9]+)*`)
	// colour has digits that are no version; Maven colours its own even when nobody looks.
	colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)
)

// found is what a machine has of something that is needed.
type found struct {
	// path and version are those of the command, empty where it could not be asked.
	path, version string
	// err says what is missing, and where to get it.
	err error
}

// describe names what is needed.
func describe(need subject.Need) string {
	if need.Version == "" {
		return need.Command[0]
	}
	return need.Command[0] + " " + need.Version + " or newer"
}

// look looks for what is needed, from the folder dir, as some commands choose their version by the folder.
func look(ctx context.Context, dir string, need subject.Need) found {
	name := need.Command[0]
	wanted := describe(need)
	path, err := exec.LookPath(name)
	if err != nil {
		return found{err: fmt.Errorf("%s is needed, but %s is not on PATH; get it from %s", wanted, name, need.Get)}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, need.Command[1:]...)
	cmd.Dir = dir
	cmd.Env = baseEnvironment()
	out, err := cmd.CombinedOutput() // java writes its version to standard error
	line := strings.Join(need.Command, " ")
	if err != nil {
		return found{path: path, err: fmt.Errorf("%s is needed, but %s (%s) failed: %w: %s", wanted, line, path, err, strings.TrimSpace(string(out)))}
	}
	version := versionNumber.FindString(colour.ReplaceAllString(string(out), ""))
	switch {
	case version == "" && need.Version != "":
		err = fmt.Errorf("%s is needed, but %s (%s) prints no version: %s", wanted, line, path, strings.TrimSpace(string(out)))
	case compareVersions(version, need.Version) < 0:
		err = fmt.Errorf("%s is needed, but %s (%s) prints %s; get it from %s", wanted, line, path, version, need.Get)
	}
	return found{path, version, err}
}

// lookAll returns one line per need for the key of a build, and one error for all that is missing.
func lookAll(ctx context.Context, dir string, needs []subject.Need) ([]string, error) {
	var lines []string
	var errs []error
	for _, need := range needs {
		f := look(ctx, dir, need)
		lines = append(lines, f.path+" "+f.version)
		errs = append(errs, f.err)
	}
	return lines, errors.Join(errs...)
}

// compareVersions compares dotted numbers; a missing number is 0.
func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if c := cmp.Compare(versionPart(as, i), versionPart(bs, i)); c != 0 {
			return c
		}
	}
	return 0
}

func versionPart(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i]) // only digits come here, or nothing, which is 0
	return n
}
