package result

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Names of the files that every run has.
const (
	RunFile    = "run.json"
	ReportFile = "report.md"
	// SumsFile lists the SHA-256 of every other file, in the form that `sha256sum --check` reads.
	SumsFile = "SHA256SUMS"
)

// NewID returns a fresh name for a run.
func NewID(experiment string, now time.Time) string {
	var random [3]byte
	rand.Read(random[:]) // never fails
	return fmt.Sprintf("%s-%s-%s", now.Format(time.DateOnly), experiment, hex.EncodeToString(random[:]))
}

// Folder is the folder of a run that is being made. Until Commit it has another, hidden name, so that whoever looks into
// results/ sees complete runs only.
type Folder struct{ partial, final string }

// NewFolder makes the folder of the run with that ID under results.
func NewFolder(results, id string) (*Folder, error) {
	f := &Folder{partial: filepath.Join(results, ".partial-"+id), final: filepath.Join(results, id)}
	if _, err := os.Stat(f.final); err == nil {
		return nil, fmt.Errorf("make the run's folder: %s exists", f.final)
	}
	if err := os.MkdirAll(results, 0o755); err != nil {
		return nil, fmt.Errorf("make the run's folder: %w", err)
	}
	if err := os.Mkdir(f.partial, 0o755); err != nil {
		return nil, fmt.Errorf("make the run's folder: %w", err)
	}
	return f, nil
}

// Path is where the folder is now.
func (f *Folder) Path() string { return f.partial }

// Commit writes run.json, the report and the checksums, and gives the folder its name. It returns the folder's path. The folder
// must not be used afterwards.
func (f *Folder) Commit(run *Run, report []byte) (string, error) {
	var text bytes.Buffer
	if err := run.WriteJSON(&text); err != nil {
		return "", fmt.Errorf("write %s: %w", RunFile, err)
	}
	if err := os.WriteFile(filepath.Join(f.partial, RunFile), text.Bytes(), 0o644); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(f.partial, ReportFile), report, 0o644); err != nil {
		return "", err
	}
	sums, err := checksums(f.partial)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", SumsFile, err)
	}
	if err := os.WriteFile(filepath.Join(f.partial, SumsFile), sums, 0o644); err != nil {
		return "", err
	}
	if err := os.Rename(f.partial, f.final); err != nil {
		return "", fmt.Errorf("finish the run's folder: %w", err)
	}
	return f.final, nil
}

// Discard removes the folder if it was not committed.
func (f *Folder) Discard() error { return os.RemoveAll(f.partial) }

// checksums returns the content of SumsFile for all files under dir.
func checksums(dir string) ([]byte, error) {
	var sums bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		hash := sha256.New()
		if _, err := io.Copy(hash, file); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", hash.Sum(nil), filepath.ToSlash(name))
		return nil
	})
	return sums.Bytes(), err
}
