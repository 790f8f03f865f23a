package result

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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
	sums, err := Checksums(f.partial)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", SumsFile, err)
	}
	if err := os.WriteFile(filepath.Join(f.partial, SumsFile), formatChecksums(sums), 0o644); err != nil {
		return "", err
	}
	if err := os.Rename(f.partial, f.final); err != nil {
		return "", fmt.Errorf("finish the run's folder: %w", err)
	}
	return f.final, nil
}

// Discard removes the folder if it was not committed.
func (f *Folder) Discard() error { return os.RemoveAll(f.partial) }

// Checksums returns the SHA-256, as hexadecimal digits, of every file under dir but SumsFile, by its name: relative to dir, with
// slashes.
func Checksums(dir string) (map[string]string, error) {
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == SumsFile {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		hash := sha256.New()
		if _, err := io.Copy(hash, file); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		sums[filepath.ToSlash(name)] = hex.EncodeToString(hash.Sum(nil))
		return nil
	})
	return sums, err
}

// sumsLine is a line of SumsFile.
var sumsLine = regexp.MustCompile(`^([0-9a-f]{64})  (.+)$`)

// ParseChecksums reads what SumsFile holds. The error names the first line that is not of its form or names a file again.
func ParseChecksums(text []byte) (map[string]string, error) {
	sums := map[string]string{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		match := sumsLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if match == nil {
			return nil, fmt.Errorf("line %d is not a SHA-256, two spaces and a file's name", number)
		}
		if _, again := sums[match[2]]; again {
			return nil, fmt.Errorf("line %d names %s a second time", number, match[2])
		}
		sums[match[2]] = match[1]
	}
	return sums, nil
}

// formatChecksums returns the content of SumsFile, in the order of the names.
func formatChecksums(sums map[string]string) []byte {
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&text, "%s  %s\n", sums[name], name)
	}
	return text.Bytes()
}
