package subject

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

// profiles are the wire revisions that the gate knows.
var profiles = []string{"2025-11-25", "2026-07-28"}

// maxWarmup is more than any server should take: each launch waits for it.
const maxWarmup = yamlfile.Duration(10 * time.Minute)

// reserved are set by the harness at every start.
var reserved = []string{"HOST", "PORT", "UPSTREAM_URL"}

var (
	namePattern    = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	envPattern     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	versionPattern = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*$`)
	placeholder    = regexp.MustCompile(`\{\{.*?\}\}`)
)

// FindRoot returns the nearest folder from dir upwards that is the root of this project.
func FindRoot(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for root := start; ; root = filepath.Dir(root) {
		if exists(filepath.Join(root, "go.work")) && exists(filepath.Join(root, "contract")) {
			return root, nil
		}
		if root == filepath.Dir(root) {
			return "", fmt.Errorf("%s is not inside a checkout of mcp-parity (no folder above it holds go.work and contract); change into one", start)
		}
	}
}

// Discover reads servers/*/subject.yaml below root and returns the subjects in the order of their names. The error holds
// every mistake in every file.
func Discover(root string) ([]Subject, error) {
	files, err := filepath.Glob(filepath.Join(root, "servers", "*", "subject.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no subject found: there is no servers/*/subject.yaml in %s", root)
	}
	var subjects []Subject
	var errs []error
	for _, file := range files {
		s, err := Load(filepath.Dir(file))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, other := range subjects {
			if other.Port == s.Port {
				errs = append(errs, fmt.Errorf("%s: port: %d is the port of %s already; each subject has its own", file, s.Port, other.Name))
			}
		}
		subjects = append(subjects, s)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortFunc(subjects, func(a, b Subject) int { return strings.Compare(a.Name, b.Name) })
	return subjects, nil
}

// Load reads the subject.yaml in dir. The error names the file, the line, the field and what is allowed, for every mistake.
func Load(dir string) (Subject, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Subject{}, err
	}
	path := filepath.Join(dir, "subject.yaml")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Subject{}, fmt.Errorf("%s has no subject.yaml; docs/adding-a-server.md tells what to write there", dir)
	}
	if err != nil {
		return Subject{}, err
	}
	s := Subject{Dir: dir}
	f, err := yamlfile.Decode(path, text, &s)
	if err != nil {
		return Subject{}, err
	}
	c := checker{dir: dir, file: f}
	c.subject(s)
	if err := errors.Join(c.errs...); err != nil {
		return Subject{}, err
	}
	return s, nil
}

// checker collects what is wrong with the values of a file that has the right shape.
type checker struct {
	dir  string
	file yamlfile.File
	errs []error
}

// fail adds an error about the field, whose path is written as in needs[0].version.
func (c *checker) fail(field, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %s: %s", c.file.At(field), field, fmt.Sprintf(format, args...)))
}

func (c *checker) subject(s Subject) {
	if folder := filepath.Base(c.dir); s.Name != folder || !namePattern.MatchString(s.Name) {
		c.fail("name", "%q; it must be the name of the folder (%s), of lower-case letters, digits and dashes", s.Name, folder)
	}
	for _, text := range []struct{ field, value string }{
		{"title", s.Title},
		{"language.name", s.Language.Name},
		{"language.version", s.Language.Version},
		{"sdk.name", s.SDK.Name},
		{"sdk.version", s.SDK.Version},
	} {
		if text.value == "" {
			c.fail(text.field, "missing or empty; it must be a text")
		}
	}
	if s.Port < 1024 || s.Port > 65535 {
		c.fail("port", "%d; it must be from 1024 to 65535", s.Port)
	}
	if !slices.Contains(s.Profiles, profiles[0]) {
		c.fail("profiles", "must have %q, which every server speaks", profiles[0])
	}
	c.profiles("profiles", s.Profiles)
	if s.Warmup < 0 || s.Warmup > maxWarmup || time.Duration(s.Warmup)%time.Second != 0 {
		c.fail("warmup", "%s; it must be whole seconds, up to %s", s.Warmup, maxWarmup)
	}
	c.env("env", s.Env)
	seen := map[string]bool{}
	for i, v := range s.Variants {
		field := fmt.Sprintf("variants[%d]", i)
		if !namePattern.MatchString(v.Name) || seen[v.Name] {
			c.fail(field+".name", "%q; it must be unique, of lower-case letters, digits and dashes", v.Name)
		}
		seen[v.Name] = true
		c.profiles(field+".profiles", v.Profiles)
		c.env(field+".env", v.Env)
	}
	if s.Docker == nil && s.Process == nil {
		c.fail("process", "missing; there must be docker, process or both")
	}
	if s.Docker != nil {
		c.docker(*s.Docker)
	}
	if s.Process != nil {
		c.process(*s.Process)
	}
}

func (c *checker) profiles(field string, names []string) {
	for i, name := range names {
		if !slices.Contains(profiles, name) || slices.Contains(names[:i], name) {
			c.fail(fmt.Sprintf("%s[%d]", field, i), "%q; it must be one of %s, each at most once", name, strings.Join(profiles, ", "))
		}
	}
}

func (c *checker) env(field string, env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		at := field + "." + name
		switch value := env[name]; {
		case !envPattern.MatchString(name):
			c.fail(field, "%q is not the name of an environment variable: letters, digits and underscores", name)
		case slices.Contains(reserved, name):
			c.fail(at, "the harness sets this one itself; remove it")
		case name == "MCP_SESSIONS" && value != "stateless" && value != "stateful":
			c.fail(at, "%q; it must be stateless or stateful", value)
		}
	}
}

func (c *checker) docker(d Docker) {
	context := filepath.Join(c.dir, d.Context)
	switch {
	case d.Context == "" || !exists(context):
		c.fail("docker.context", "%q; it must be a folder, relative to the subject's", d.Context)
	case d.Dockerfile == "" || !exists(filepath.Join(context, d.Dockerfile)):
		c.fail("docker.dockerfile", "%q; it must be a file, relative to the context", d.Dockerfile)
	}
}

func (c *checker) process(p Process) {
	for i, need := range p.Needs {
		field := fmt.Sprintf("process.needs[%d]", i)
		c.command(field+".command", need.Command, false)
		if need.Version != "" && !versionPattern.MatchString(need.Version) {
			c.fail(field+".version", "%q; it must be the lowest version that will do, numbers joined by dots", need.Version)
		}
		if need.Get == "" {
			c.fail(field+".get", "missing or empty; it must tell where to get the command")
		}
	}
	if len(p.Sources) == 0 {
		c.fail("process.sources", "missing or empty; it must list the files and folders that are built, such as [\".\"]")
	}
	for i, source := range p.Sources {
		if !exists(filepath.Join(c.dir, source)) {
			c.fail(fmt.Sprintf("process.sources[%d]", i), "there is no %s in the subject's folder", source)
		}
	}
	if len(p.Build) == 0 {
		c.fail("process.build", "missing or empty; it must list the commands that fill {{out}}")
	}
	for i, command := range p.Build {
		c.command(fmt.Sprintf("process.build[%d]", i), command, true)
	}
	c.command("process.run", p.Run, true)
}

func (c *checker) command(field string, words []string, out bool) {
	if len(words) == 0 || words[0] == "" {
		c.fail(field, "missing or empty; it must be a list: the command, then its arguments")
	}
	for _, word := range words {
		for _, name := range placeholder.FindAllString(word, -1) {
			if !out || name != "{{out}}" {
				c.fail(field, "%s is not known here; only {{out}} is, in build and run", name)
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
