// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package packages converts kpt packages to resources and back. It reads the packages of a file tree, which is a directory or a
// map, and prints rendered resources as changes to files.
//
// To render a package, open its files with [OpenDir] or [NewMemory], pass the result to render.Package, and apply the changes in
// its result with [Dir.Apply] or [Memory.Apply]. To edit the resources of a package in another way, find its packages with
// [Open], read them with [Tree.Load] and [Tree.ReadResources], and convert the resources to changes with [Tree.Output].
//
// Resources are kyaml nodes. In memory, annotations record the package, file and index of each resource and the indentation of
// its sequences. Printed files do not contain these annotations.
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

// Package is one package without its subpackages.
type Package struct {
	// Dir is the package's directory in its tree: relative, clean, with forward slashes; "." for the root.
	Dir string
	// Location is the absolute path of the directory, with forward slashes. It is the value of the resources' package
	// annotation.
	Location string
	// Kptfile is the decoded Kptfile; nil after ReadAll, which does not decode it.
	Kptfile *kptfilev1.KptFile
	// Resources are all resources of the package, including the Kptfile, in file order.
	Resources []*yaml.RNode
	// Subpackages are the Dir values of the packages directly below this one, in byte order.
	Subpackages []string

	// files holds the content of the files that contain resources, by tree path.
	files map[string][]byte
	// kptfile is the content of the Kptfile after Load, so that the file is read only once.
	kptfile []byte
}

// Tree is a file tree and its packages. Several goroutines may use it at once if each uses different packages.
type Tree struct {
	source Source
	// flat reports whether the root is a package even without a Kptfile.
	flat bool
	// dirs lists the directories of all packages in walk order.
	dirs []string
	// subpackages lists the packages directly below each package, in byte order.
	subpackages map[string][]string
	// ignored holds each package's ignore patterns.
	ignored map[string]ignore
	// files lists each package's resource files in walk order.
	files map[string][]string
	// paths has an entry for each file and directory of the tree; true means directory.
	paths map[string]bool
}

// Open finds the packages of a tree: every directory with a Kptfile. A file belongs to the nearest package above it.
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

// Location returns the absolute path of a package's directory.
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
		// The parent package of a package is found like the package of a file.
		if owner, ok := t.owner(dir); ok {
			t.subpackages[owner] = append(t.subpackages[owner], dir)
		}
	}
	for _, subs := range t.subpackages {
		slices.Sort(subs)
	}
}

// Topmost returns the directory of the topmost package: the root if it is a package, or else the package with the shortest
// path, the first in byte order if there are several. ok is false if the tree has no package.
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

// compareWalk orders paths like filepath.WalkDir: names within a directory in byte order, and a directory's files at its place.
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

// IsResourceFile reports whether a file can contain resources by its name: Kptfile, *.yaml, *.yml or *.json, case-sensitive.
func IsResourceFile(p string) bool {
	switch path.Ext(p) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return path.Base(p) == kptfile.FileName
}

// Source is a file tree. Its paths are relative, clean and use forward slashes.
type Source interface {
	// Location returns the absolute path of the root, with forward slashes.
	Location() string
	// Paths returns all regular files outside .git directories, in any order.
	Paths() ([]string, error)
	// ReadFile returns a file's content. For a missing file the error wraps fs.ErrNotExist. Must be safe for concurrent use.
	ReadFile(path string) ([]byte, error)
}

// Change is the creation, change or deletion of one file.
type Change struct {
	// Path is the file's tree path.
	Path string
	// Before is the old content; nil for a new file.
	Before []byte
	// After is the new content; nil for a deleted file.
	After []byte
}
