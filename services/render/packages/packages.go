// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package packages turns kpt packages into resources and back. A tree of files, a directory or a map, is read package by
// package; what a render made of the resources comes out as the files that change.
//
// Resources are kyaml nodes. While they are in memory their annotations say which package and file they belong to, at
// which place, and how their sequences are indented; all of that is gone in what is written.
package packages

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/kptfile"
)

// Package is one package without its sub-packages.
type Package struct {
	// Dir is the package's directory in its tree: relative, clean, with slashes; "." for the root.
	Dir string
	// Location is the absolute path of the directory, with slashes. Its resources are annotated with it.
	Location string
	// Kptfile is what the package's Kptfile said when it was read; nil where it was not, see ReadAll.
	Kptfile *kptfilev1.KptFile
	// Resources are all resources of the package, the Kptfile among them, in the order of its files.
	Resources []*yaml.RNode
	// Subpackages are the directories, as Dir, of the packages directly below this one, in byte order.
	Subpackages []string

	// files has the content of the files that the resources came from, by path in the tree.
	files map[string][]byte
	// kptfile is the content of the Kptfile, where it was read; it is read once.
	kptfile []byte
}

// Tree is a tree of files and the packages in it. It may be used by several goroutines at once, each with packages of its
// own.
type Tree struct {
	source Source
	// flat is whether the root counts as a package, with a Kptfile or without.
	flat bool
	// dirs are the directories of all packages, in walk order.
	dirs []string
	// subpackages are the packages directly below each one, in byte order.
	subpackages map[string][]string
	// ignored has what each package's own file says is not to be read.
	ignored map[string]ignore
	// files has the paths of each package's resource files, in walk order.
	files map[string][]string
	// paths are all files of the tree, and true for its directories.
	paths map[string]bool
}

// Open finds the packages of a tree: the directories with a Kptfile. Every file belongs to the nearest package above it.
func Open(source Source) (*Tree, error) { return open(source, false) }

func open(source Source, flat bool) (*Tree, error) {
	paths, err := source.Paths()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", source.Location(), err)
	}
	slices.SortFunc(paths, compareWalk)
	t := &Tree{
		source: source, flat: flat,
		subpackages: map[string][]string{}, ignored: map[string]ignore{}, files: map[string][]string{}, paths: make(map[string]bool, 2*len(paths)),
	}
	for _, p := range paths {
		t.paths[p] = false
		for dir := path.Dir(p); !t.paths[dir]; dir = path.Dir(dir) {
			t.paths[dir] = true
		}
		if path.Base(p) == kptfile.FileName {
			t.dirs = append(t.dirs, path.Dir(p))
		}
	}
	if flat && !slices.Contains(t.dirs, ".") {
		t.dirs = append(t.dirs, ".")
	}
	t.nest()
	for _, dir := range t.dirs {
		if _, exists := t.paths[path.Join(dir, ignoreFile)]; !exists {
			continue
		}
		if t.ignored[dir], err = readIgnore(source, dir); err != nil {
			return nil, err
		}
	}
	for _, p := range paths {
		if owner, ok := t.owner(p); ok && IsResourceFile(p) && !t.ignored[owner].matchFile(p) {
			t.files[owner] = append(t.files[owner], p)
		}
	}
	return t, nil
}

// Location returns the absolute path of the directory of a package.
func (t *Tree) Location(dir string) string { return path.Join(t.source.Location(), dir) }

// owner returns the directory of the nearest package above a path.
func (t *Tree) owner(p string) (string, bool) {
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		if isDir, ok := t.paths[path.Join(dir, kptfile.FileName)]; ok && !isDir {
			return dir, true
		}
		if dir == "." {
			return dir, t.flat
		}
	}
}

func (t *Tree) nest() {
	for _, dir := range t.dirs {
		if dir == "." {
			continue
		}
		// The owner of the directory, as of a file: the nearest package above it.
		if owner, ok := t.owner(dir); ok {
			t.subpackages[owner] = append(t.subpackages[owner], dir)
		}
	}
	for _, subs := range t.subpackages {
		slices.Sort(subs)
	}
}

// Topmost returns the directory of the package at the top of the tree: the root, or else the package with the fewest
// directories above it, of several the first in byte order. ok is false where the tree has no package.
func (t *Tree) Topmost() (dir string, ok bool) {
	if len(t.dirs) == 0 {
		return "", false
	}
	depth := func(dir string) int {
		if dir == "." {
			return -1
		}
		return strings.Count(dir, "/")
	}
	return slices.MinFunc(t.dirs, func(a, b string) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), strings.Compare(a, b))
	}), true
}

// compareWalk orders paths as a walk meets them: by name in each directory, and a directory's files in its place.
func compareWalk(a, b string) int {
	for {
		aName, aRest, aDeep := strings.Cut(a, "/")
		bName, bRest, bDeep := strings.Cut(b, "/")
		switch {
		case aName != bName:
			return strings.Compare(aName, bName)
		case !aDeep || !bDeep:
			return strings.Compare(a, b)
		}
		a, b = aRest, bRest
	}
}

// IsResourceFile tells whether a file holds resources, by its name: Kptfile, *.yaml, *.yml and *.json, where case matters.
func IsResourceFile(p string) bool {
	switch path.Ext(p) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return path.Base(p) == kptfile.FileName
}

// Source is a tree of files. Paths in it are relative, clean and have slashes.
type Source interface {
	// Location returns the absolute path of the tree's root, with slashes.
	Location() string
	// Paths returns all regular files outside of .git directories, in any order.
	Paths() ([]string, error)
	// ReadFile returns a file's content. The error wraps fs.ErrNotExist where there is none. It may be called by several
	// goroutines at once.
	ReadFile(path string) ([]byte, error)
}

// Change is what happens to one file.
type Change struct {
	// Path is the file's path in its tree.
	Path string
	// Before is its content before; nil for a new file.
	Before []byte
	// After is its content after; nil for a file that is deleted.
	After []byte
}
