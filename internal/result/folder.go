package result

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
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

// partialPrefix begins the name of a folder that is being made.
const partialPrefix = ".partial-"

// Folder is the folder of a run that is being made. Until Commit it has another, hidden name, so that whoever looks into
// results/ sees runs that nobody changes any more.
type Folder struct {
	path, partial, final string
	// lock is on the folder itself. It ends with the process, even when that is killed.
	lock *flock.Flock
}

// NewFolder makes the folder of the run with that ID under results.
func NewFolder(results, id string) (*Folder, error) {
	f := newFolder(results, id)
	if _, err := os.Stat(f.final); err == nil {
		return nil, fmt.Errorf("make the run's folder: %s exists", f.final)
	}
	if err := os.MkdirAll(results, 0o755); err != nil {
		return nil, fmt.Errorf("make the run's folder: %w", err)
	}
	if err := os.Mkdir(f.partial, 0o755); err != nil {
		return nil, fmt.Errorf("make the run's folder: %w", err)
	}
	f.path = f.partial
	if err := f.take(); err != nil {
		return nil, fmt.Errorf("make the run's folder: %w", err)
	}
	return f, nil
}

// Reopen finds an unfinished run to go on with, by its ID, which stands for a folder in results, or by its folder: one that was interrupted,
// or one whose maker was killed. The folder stays as it is until Begin; Close or Commit lets go of it.
func Reopen(results, name string) (*Folder, *Run, error) {
	if filepath.Base(name) != name {
		results, name = filepath.Split(filepath.Clean(name))
	}
	f := newFolder(results, strings.TrimPrefix(name, partialPrefix))
	for _, path := range []string{f.partial, f.final} {
		if _, err := os.Stat(path); err == nil {
			f.path = path
			break
		}
	}
	if f.path == "" {
		return nil, nil, fmt.Errorf("there is no run %s in %s to go on with", name, results)
	}
	if err := f.take(); err != nil {
		return nil, nil, fmt.Errorf("go on with %s: %w", name, err)
	}
	run, err := Read(f.path)
	if _, missing := os.Stat(filepath.Join(f.path, RunFile)); missing != nil {
		err = fmt.Errorf("%s ended before its first launch did, so there is nothing to go on with: remove it and start again", f.path)
	} else if err == nil && run.Status == Complete {
		err = fmt.Errorf("the run in %s is complete: there is nothing left to do", f.path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, run, nil
}

func newFolder(results, id string) *Folder {
	return &Folder{partial: filepath.Join(results, partialPrefix+id), final: filepath.Join(results, id)}
}

// take makes sure that nobody else works on the folder.
func (f *Folder) take() error {
	f.lock = flock.New(f.path, flock.SetFlag(os.O_RDONLY))
	locked, err := f.lock.TryLock()
	if err == nil && !locked {
		err = errors.New("another parity is making it right now")
	}
	return err
}

// Begin makes a folder that was committed one that is being made. It does nothing to a new one.
func (f *Folder) Begin() error {
	if f.path == f.partial {
		return nil
	}
	if err := os.Rename(f.final, f.partial); err != nil {
		return fmt.Errorf("go on with the run: %w", err)
	}
	f.path = f.partial
	for _, name := range []string{ReportFile, SumsFile} { // they are wrong as soon as a file changes
		if err := os.Remove(filepath.Join(f.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("go on with the run: %w", err)
		}
	}
	return nil
}

// Path is where the folder is now.
func (f *Folder) Path() string { return f.path }

// Save writes run.json as it is now, for Reopen.
func (f *Folder) Save(run *Run) error {
	var text bytes.Buffer
	err := run.WriteJSON(&text)
	if err == nil {
		err = renameio.WriteFile(filepath.Join(f.path, RunFile), text.Bytes(), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", RunFile, err)
	}
	return nil
}

// Commit writes run.json, the report and the checksums, and gives the folder its name. It returns the folder's path. The folder
// must not be used afterwards.
func (f *Folder) Commit(run *Run, report []byte) (string, error) {
	if err := f.Save(run); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(f.path, ReportFile), report, 0o644); err != nil {
		return "", err
	}
	sums, err := Checksums(f.path)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", SumsFile, err)
	}
	if err := os.WriteFile(filepath.Join(f.path, SumsFile), formatChecksums(sums), 0o644); err != nil {
		return "", err
	}
	if err := os.Rename(f.path, f.final); err != nil {
		return "", fmt.Errorf("finish the run's folder: %w", err)
	}
	return f.final, f.Close()
}

// Discard removes the folder.
func (f *Folder) Discard() error { return errors.Join(os.RemoveAll(f.path), f.Close()) }

// Close lets go of the folder and leaves it where it is.
func (f *Folder) Close() error { return f.lock.Close() }

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
