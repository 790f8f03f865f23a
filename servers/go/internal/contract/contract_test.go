package contract

import (
	"os"
	"path/filepath"
	"testing"
)

const repository = "../../../.."

// TestCopy fails when the contract has changed and `go generate ./...` was forgotten.
func TestCopy(t *testing.T) {
	originals, err := filepath.Glob(repository + "/contract/tools/*.json")
	if err != nil || len(originals) == 0 {
		t.Fatalf("no tools in the contract: %v", err)
	}
	copies, err := files.ReadDir("tools")
	if err != nil {
		t.Fatal(err)
	}
	if len(copies) != len(originals) {
		t.Errorf("%d copies of %d files: run go generate ./...", len(copies), len(originals))
	}
	for _, path := range originals {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		if got, err := files.ReadFile("tools/" + name); err != nil || string(got) != string(want) {
			t.Errorf("the copy of %s is stale: run go generate ./...", name)
		}
	}
}
