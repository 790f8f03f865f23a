package main

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestSubject compares what subject.yaml and the Dockerfile say about the SDK
// with the SDK that is linked in.
func TestSubject(t *testing.T) {
	text, err := os.ReadFile("../../subject.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var subject struct {
		SDK struct {
			Name    string `yaml:"name"`
			Version string `yaml:"version"`
		} `yaml:"sdk"`
	}
	if err := yaml.Unmarshal(text, &subject); err != nil {
		t.Fatal(err)
	}
	linked := ""
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("no build information")
	}
	for _, module := range info.Deps {
		if module.Path == subject.SDK.Name {
			linked = module.Version
		}
	}
	if linked != subject.SDK.Version {
		t.Errorf("subject.yaml says %s %s, linked is %q", subject.SDK.Name, subject.SDK.Version, linked)
	}
	dockerfile, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{`io.mcp-parity.sdk="` + subject.SDK.Name + `"`, `io.mcp-parity.sdk-version="` + subject.SDK.Version + `"`} {
		if !strings.Contains(string(dockerfile), label) {
			t.Errorf("the Dockerfile has no label %s", label)
		}
	}
}
