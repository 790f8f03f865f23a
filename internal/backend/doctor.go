package backend

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-parity/mcp-parity/internal/subject"
)

// Finding is one thing that a backend needs, and whether this machine has it.
type Finding struct {
	// Backend is [KindDocker] or [KindProcess].
	Backend string
	// What is needed, such as "Docker engine" or "node 20 or newer".
	What string
	// For are the names of those that need it; none when all do.
	For []string
	// Found is what there is, such as a version; empty when there is nothing.
	Found string
	// Missing says what is wrong and where to get it; empty when all is well.
	Missing string
}

// Doctor looks for what either backend needs for the subjects and for what they call. It builds and starts nothing.
func Doctor(ctx context.Context, root string, subjects []subject.Subject) []Finding {
	return append(examineDocker(ctx, root), examineProcess(ctx, root, subjects)...)
}

func examineDocker(ctx context.Context, root string) []Finding {
	engine := Finding{Backend: KindDocker, What: "Docker engine"}
	b, err := New(ctx, KindDocker, Options{Root: root})
	if err != nil {
		engine.Missing = err.Error()
		return []Finding{engine}
	}
	d := b.(*dockerBackend)
	engine.Found = d.engine
	images := Finding{Backend: KindDocker, What: "base images", Found: "the official ones, pulled when they are needed"}
	if d.buildArgs != nil {
		images.Found = "the stand-ins of compose/bases/build.sh"
	}
	findings := []Finding{engine, images}
	if err := b.Close(); err != nil {
		findings[0].Missing = err.Error()
	}
	return findings
}

func examineProcess(ctx context.Context, root string, subjects []subject.Subject) []Finding {
	system := Finding{Backend: KindProcess, What: "Linux or macOS", Found: runtime.GOOS}
	if runtime.GOOS != "linux" {
		system.Found += ", which cannot bind processes to CPUs"
	}
	findings := []Finding{system}
	services := []Service{Upstream(root)}
	for _, s := range subjects {
		services = append(services, Service{Name: s.Name, Dir: s.Dir, Process: s.Process})
	}
	for _, s := range services {
		if s.Process == nil {
			findings = append(findings, Finding{
				Backend: KindProcess, What: "a process section", For: []string{s.Name},
				Missing: fmt.Sprintf("the subject.yaml of %s has none, so it can only run with the docker backend", s.Name),
			})
			continue
		}
		for _, need := range s.Process.Needs {
			f := look(ctx, s.Dir, need)
			finding := Finding{Backend: KindProcess, What: describe(need), For: []string{s.Name}, Found: strings.TrimSpace(f.version + " " + f.path)}
			if f.err != nil {
				finding.Missing = f.err.Error()
			}
			same := slices.IndexFunc(findings, func(other Finding) bool {
				return other.What == finding.What && other.Found == finding.Found && other.Missing == finding.Missing
			})
			if same < 0 {
				findings = append(findings, finding)
			} else {
				findings[same].For = append(findings[same].For, s.Name)
			}
		}
	}
	return findings
}
