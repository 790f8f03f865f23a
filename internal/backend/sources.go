package backend

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// key is a hash of files and of other things that decide whether a build is still good.
type key struct {
	hash hash.Hash
}

func newKey() key { return key{sha256.New()} }

// add adds values; the lengths keep ("ab", "c") and ("a", "bc") apart.
func (k key) add(values ...string) {
	for _, v := range values {
		fmt.Fprintf(k.hash, "%d:%s", len(v), v)
	}
}

// addFiles adds the names, permissions and content of a file, or of all files below a folder that git does not ignore.
func (k key) addFiles(path string) error {
	files, err := sourceFiles(path)
	if err != nil {
		return err
	}
	for _, file := range files {
		full := filepath.Join(path, file)
		info, err := os.Lstat(full)
		if err != nil {
			return err
		}
		var content []byte
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(full)
			if err != nil {
				return err
			}
			content = []byte(target)
		} else if content, err = os.ReadFile(full); err != nil {
			return err
		}
		k.add(filepath.ToSlash(file), info.Mode().String(), string(content))
	}
	return nil
}

// String returns the hash in a length that suits names of folders and tags of images.
func (k key) String() string { return hex.EncodeToString(k.hash.Sum(nil))[:16] }

// sourceFiles lists the files at or below path, relative to it, in order. Outside a git work tree nothing is ignored.
func sourceFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{"."}, nil
	}
	var files []string
	if out, err := exec.Command("git", "-C", path, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output(); err == nil {
		for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
			// What git knows may have been deleted, or be another repository.
			if info, err := os.Lstat(filepath.Join(path, string(name))); err == nil && !info.IsDir() {
				files = append(files, string(name))
			}
		}
	} else if err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, _ := filepath.Rel(path, name) // of a path below path
			files = append(files, relative)
		}
		return err
	}); err != nil {
		return nil, err
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// builds remembers what was built, by the service's folder, so that all launches of a run use the same build.
type builds[T any] struct {
	mu    sync.Mutex
	byDir map[string]*oneBuild[T]
}

type oneBuild[T any] struct {
	mu    sync.Mutex
	done  bool
	built T
}

// get returns what make returned for the folder, at the first time that it did not fail.
func (b *builds[T]) get(dir string, make func() (T, error)) (T, error) {
	b.mu.Lock()
	if b.byDir == nil {
		b.byDir = map[string]*oneBuild[T]{}
	}
	one := b.byDir[dir]
	if one == nil {
		one = &oneBuild[T]{}
		b.byDir[dir] = one
	}
	b.mu.Unlock()

	one.mu.Lock()
	defer one.mu.Unlock()
	if one.done {
		return one.built, nil
	}
	built, err := make()
	if err == nil {
		one.built, one.done = built, true
	}
	return built, err
}
