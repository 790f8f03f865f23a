package load

import (
	"context"
	"os/exec"
	"path/filepath"

	"github.com/mcp-parity/mcp-parity/internal/backend"
	"github.com/mcp-parity/mcp-parity/internal/subject"
)

// Host builds and starts k6, which runs on this machine whatever the backend of the servers is.
type Host interface {
	// BuildDir builds the service unless that was done for these sources before, and returns the folder {{out}} of the build.
	BuildDir(ctx context.Context, s backend.Service) (string, error)
	// StartCommand starts the command in a process group of its own, on the CPUs where they can be chosen.
	StartCommand(cmd *exec.Cmd, cpus []int) error
}

// BuildK6 builds the k6 with k6/x/mcp of the checkout at root, unless that was done before, and returns the program's path. The
// first time takes minutes.
func BuildK6(ctx context.Context, host Host, root string) (string, error) {
	out, err := host.BuildDir(ctx, backend.Service{
		Name: "k6",
		Dir:  filepath.Join(root, "xk6-mcp"),
		Process: &subject.Process{
			Needs:   []subject.Need{{Command: []string{"go", "version"}, Version: "1.26", Get: "https://go.dev/dl/"}},
			Sources: []string{"."},
			// Without the workspace, in which the versions that other modules need would change what is built.
			Build: [][]string{{"env", "GOWORK=off", "go", "build", "-o", "{{out}}/k6", "./cmd/k6"}},
		},
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(out, "k6"), nil
}
