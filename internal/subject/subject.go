// Package subject reads what is known about each server under test: one subject.yaml per server, and nothing else.
package subject

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-parity/mcp-parity/internal/yamlfile"
)

// Subject is one server under test, as its subject.yaml describes it.
type Subject struct {
	// Dir is the absolute path of the folder that holds the subject.yaml; it is not part of the file.
	Dir string `yaml:"-"`

	// Name is the name of the folder: lower-case letters, digits and dashes.
	Name string `yaml:"name"`
	// Title is what tables and reports call the server.
	Title string `yaml:"title"`
	// Language is what runs the server, with the lowest version that will do.
	Language Version `yaml:"language"`
	// SDK is the MCP library that the server is built on.
	SDK Version `yaml:"sdk"`
	// Port is the server's usual port, its own among all subjects.
	Port int `yaml:"port"`
	// Profiles are the wire revisions that the gate runs.
	Profiles []string `yaml:"profiles"`
	// Warmup is how long the server is under load before anything can count, where that is longer than what an experiment says. 0 is no time.
	Warmup yamlfile.Duration `yaml:"warmup"`
	// Env is added to the environment of every start.
	Env map[string]string `yaml:"env"`
	// Variants are other settings of the same code. They are gated too.
	Variants []Variant `yaml:"variants"`
	// Docker says how the server becomes an image; nil when the subject has none.
	Docker *Docker `yaml:"docker"`
	// Process says how the server is built and run without containers; nil when the subject cannot be.
	Process *Process `yaml:"process"`
}

// Version names something that has versions: a language or an SDK.
type Version struct {
	Name    string `yaml:"name"`
	Version string `yaml:"version"`
}

// Variant is a subject's code under other settings.
type Variant struct {
	// Name is unique within the subject: lower-case letters, digits and dashes.
	Name string `yaml:"name"`
	// Env is added to, and wins over, the subject's Env.
	Env map[string]string `yaml:"env"`
	// Profiles replaces the subject's Profiles where it is not empty.
	Profiles []string `yaml:"profiles"`
}

// Docker says how an image is built.
type Docker struct {
	// Image is an image that was built elsewhere; where it is set, nothing is built. It is not part of the file.
	Image string `yaml:"-"`
	// Context is the folder that is sent to the engine, relative to the subject's folder.
	Context string `yaml:"context"`
	// Dockerfile is relative to Context.
	Dockerfile string `yaml:"dockerfile"`
}

// Process says how a server is built and run as a child process. Commands are run without a shell; in their words, {{out}} stands
// for the absolute path of a folder that belongs to this build alone and is kept until the sources change.
type Process struct {
	// Needs are the commands that the machine must have.
	Needs []Need `yaml:"needs"`
	// Sources are files and folders, relative to the subject's folder, whose content decides whether a build is still good, of
	// an image too. What git ignores is left out.
	Sources []string `yaml:"sources"`
	// Build is run in order in the subject's folder. All that Run needs must end up in {{out}}.
	Build [][]string `yaml:"build"`
	// Run is run in {{out}}. It stays in the foreground until SIGTERM, then exits with 0.
	Run []string `yaml:"run"`
}

// Need is a command that must be on PATH.
type Need struct {
	// Command prints the version.
	Command []string `yaml:"command"`
	// Version is the lowest that will do, compared number by number with the first version in the output of Command; empty
	// when any will do.
	Version string `yaml:"version"`
	// Get tells where to get it.
	Get string `yaml:"get"`
}

// Target is what is started, gated and measured: a subject, as it is or in one of its variants.
type Target struct {
	Subject
	// Variant is the name of the variant, empty for the subject as it is.
	Variant string
}

// Targets returns the subject as it is, then its variants in the order of the file.
func (s Subject) Targets() []Target {
	targets := []Target{{Subject: s}}
	for _, v := range s.Variants {
		targets = append(targets, Target{s, v.Name})
	}
	return targets
}

// ID is the subject's name, followed by a slash and the variant's name where there is one: "go", "go/stateful".
func (t Target) ID() string {
	if t.Variant == "" {
		return t.Name
	}
	return t.Name + "/" + t.Variant
}

// Env is the environment that the target asks for.
func (t Target) Env() map[string]string {
	env := maps.Clone(t.Subject.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, t.variant().Env)
	return env
}

// Profiles are the wire revisions that the gate runs on the target.
func (t Target) Profiles() []string {
	if p := t.variant().Profiles; len(p) > 0 {
		return p
	}
	return t.Subject.Profiles
}

// Stateful tells whether the target keeps sessions.
func (t Target) Stateful() bool {
	return t.Env()["MCP_SESSIONS"] == "stateful"
}

func (t Target) variant() Variant {
	i := slices.IndexFunc(t.Variants, func(v Variant) bool { return v.Name == t.Variant })
	if i < 0 {
		return Variant{}
	}
	return t.Variants[i]
}

// Select returns the targets that are named, in that order; without names, every subject as it is. A name is a target's
// ID, or the path of a folder with a subject.yaml, which starts with "." or "/" and need not be one of all.
func Select(all []Subject, names []string) ([]Target, error) {
	var known []Target
	for _, s := range all {
		known = append(known, s.Targets()...)
	}
	if len(names) == 0 {
		return slices.DeleteFunc(known, func(t Target) bool { return t.Variant != "" }), nil
	}
	var selected []Target
	for _, name := range names {
		t, err := find(known, name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(selected, func(s Target) bool { return s.ID() == t.ID() }) {
			return nil, fmt.Errorf("subject %q is named twice", t.ID())
		}
		selected = append(selected, t)
	}
	return selected, nil
}

func find(known []Target, name string) (Target, error) {
	if strings.HasPrefix(name, ".") || filepath.IsAbs(name) {
		s, err := Load(name)
		return Target{Subject: s}, err
	}
	ids := make([]string, len(known))
	for i, t := range known {
		if ids[i] = t.ID(); ids[i] == name {
			return t, nil
		}
	}
	return Target{}, fmt.Errorf("unknown subject %q; known are %s, and the path of a folder with a subject.yaml (./my-server)",
		name, strings.Join(ids, ", "))
}
