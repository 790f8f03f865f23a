package result_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-parity/mcp-parity/internal/result"
)

func TestReopen(t *testing.T) {
	results := t.TempDir()
	const id = "2026-10-01-tiny-000000"
	run := &result.Run{SchemaVersion: result.SchemaVersion, ID: id, Status: result.Partial}
	reopen := func(name, want string) *result.Folder {
		t.Helper()
		files, got, err := result.Reopen(results, name)
		switch {
		case want == "" && err != nil:
			t.Fatalf("%s: %v", name, err)
		case want == "" && got.ID != id:
			t.Fatalf("%s: got run %s", name, got.ID)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Fatalf("%s: got %v, wanted %q", name, err, want)
		}
		return files
	}
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	wantNames := func(dir string, want ...string) {
		t.Helper()
		if names := list(t, dir); !slices.Equal(names, want) {
			t.Fatalf("%s has %q, wanted %q", dir, names, want)
		}
	}

	reopen(id, "there is no run "+id)
	files, err := result.NewFolder(results, id)
	check("new", err)
	reopen(id, "another parity is making it right now")
	check("close", files.Close()) // as when it is killed before its first launch
	reopen(id, "there is nothing to go on with")
	partial := filepath.Join(results, ".partial-"+id)
	check("write", os.WriteFile(filepath.Join(partial, result.RunFile), []byte("{"), 0o644))
	reopen(id, "unexpected EOF")
	check("remove", os.RemoveAll(partial))

	files, err = result.NewFolder(results, id)
	check("new", err)
	check("save", files.Save(run))
	check("close", files.Close())
	files = reopen(id, "")
	check("begin", files.Begin())
	folder, err := files.Commit(run, []byte("report"))
	check("commit", err)
	wantNames(results, id)
	if _, err := result.NewFolder(results, id); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a second folder of that name: got %v", err)
	}

	// A partial run that was committed stays as it is until it is gone on with.
	check("close", reopen(folder, "").Close())
	wantNames(folder, "SHA256SUMS", "report.md", "run.json")
	files = reopen(id, "")
	reopen(folder, "another parity is making it right now")
	check("begin", files.Begin())
	wantNames(results, ".partial-"+id)
	wantNames(files.Path(), "run.json")
	reopen(partial, "another parity is making it right now")
	run.Status = result.Complete
	folder, err = files.Commit(run, []byte("report"))
	check("commit", err)
	reopen(folder, "is complete")
	if got, err := result.Read(folder); err != nil || got.Status != result.Complete {
		t.Errorf("got %v, %v, wanted a complete run", got, err)
	}
}
