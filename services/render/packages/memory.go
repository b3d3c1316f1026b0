// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Memory is a tree of files in memory. Its location is "/". Several goroutines may read it at once, but none may read during
// Apply.
type Memory struct {
	files map[string]string
}

// NewMemory returns a tree with the given files, keyed by path. Leading slashes are ignored. It fails for a path that leaves
// the tree, for two paths that name the same file, and for a file that is also a directory.
func NewMemory(files map[string]string) (*Memory, error) {
	m := &Memory{files: make(map[string]string, len(files))}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		clean := path.Clean(strings.TrimLeft(p, "/"))
		if !fs.ValidPath(clean) || clean == "." {
			return nil, fmt.Errorf("path %q names no file inside the package", p)
		}
		if _, twice := m.files[clean]; twice {
			return nil, fmt.Errorf("path %q names a file that is there already", p)
		}
		m.files[clean] = files[p]
	}
	for p := range m.files {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if _, ok := m.files[dir]; ok {
				return nil, fmt.Errorf("path %q is a file and the directory of %q", dir, p)
			}
		}
	}
	return m, nil
}

// Location returns "/".
func (m *Memory) Location() string { return "/" }

// Paths returns all files outside .git directories.
func (m *Memory) Paths() ([]string, error) {
	paths := make([]string, 0, len(m.files))
	for p := range m.files {
		if !inGit(p) {
			paths = append(paths, p)
		}
	}
	return paths, nil
}

// ReadFile returns a file's content.
func (m *Memory) ReadFile(p string) ([]byte, error) {
	content, ok := m.files[p]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: "/" + p, Err: fs.ErrNotExist}
	}
	return []byte(content), nil
}

// Files returns a copy of the tree's files.
func (m *Memory) Files() map[string]string { return maps.Clone(m.files) }

// Apply makes the changes. It does not check Change.Before.
func (m *Memory) Apply(changes []Change) {
	for _, c := range changes {
		if c.After == nil {
			delete(m.files, c.Path)
		} else {
			m.files[c.Path] = string(c.After)
		}
	}
}
