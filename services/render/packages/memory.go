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

// Memory is a tree of files in memory. Its location is "/". It may be read by several goroutines at once, but
// not while changes are made.
type Memory struct {
	files map[string]string
}

// NewMemory returns a tree with the files of a map from path to content. A slash at a path's beginning does not count.
// Paths that leave the tree, that name one file twice, or a directory, are errors.
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

// Paths returns all files outside of .git directories.
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

// Apply makes changes.
func (m *Memory) Apply(changes []Change) {
	for _, c := range changes {
		if c.After == nil {
			delete(m.files, c.Path)
		} else {
			m.files[c.Path] = string(c.After)
		}
	}
}
