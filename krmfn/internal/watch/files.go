// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/krmfn/krmfn/services/render/packages"
)

// Files are the hashes of files, by their path in the directory, with slashes.
type Files map[string][sha256.Size]byte

// Files returns the files of the directory as they are: those of packages.Dir.Paths that are, or lead to, regular files.
func (w *Watcher) Files() (Files, error) {
	dir, err := packages.OpenDir(w.dir)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", w.dir, err)
	}
	defer dir.Close() //nolint:errcheck // nothing is written
	paths, err := dir.Paths()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", w.dir, err)
	}
	files := make(Files, len(paths))
	for _, path := range paths {
		// What cannot be read is a change when it can be.
		if sum, err := hash(filepath.Join(w.dir, filepath.FromSlash(path))); err == nil {
			files[path] = sum
		}
	}
	return files, nil
}

// hash returns the hash of a regular file.
func hash(file string) (sum [sha256.Size]byte, err error) {
	// A pipe would be waited for.
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return sum, errors.Join(err, fs.ErrInvalid)
	}
	f, err := os.Open(file)
	if err != nil {
		return sum, err
	}
	defer f.Close() //nolint:errcheck // it is read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// Written notes changes that the watcher's owner has made to the files by itself. Those that are not in the directory, as they were
// not written or somebody else has changed them since, are not noted.
func (w *Watcher) Written(files Files, changes []packages.Change) {
	for _, c := range changes {
		sum, err := hash(filepath.Join(w.dir, filepath.FromSlash(c.Path)))
		switch {
		case c.After == nil && errors.Is(err, fs.ErrNotExist):
			delete(files, c.Path)
		case c.After != nil && err == nil && sum == sha256.Sum256(c.After):
			files[c.Path] = sum
		}
	}
}

// changed returns the paths of what differs, sorted.
func (f Files) changed(now Files) []string {
	paths := map[string]bool{}
	for path, sum := range f {
		if other, ok := now[path]; !ok || other != sum {
			paths[path] = true
		}
	}
	for path := range now {
		if _, ok := f[path]; !ok {
			paths[path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}
