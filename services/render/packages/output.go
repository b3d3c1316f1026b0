// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/parallel"
	"github.com/krmfn/krmfn/internal/resource"
)

// File is an output file.
type File struct {
	// Path is the file's path in its tree.
	Path string
	// Content is never empty.
	Content []byte
}

// Output holds the files that result from a render.
type Output struct {
	// Files are all files that contain resources, sorted by path.
	Files []File
	// Changes lists the files whose content differs from what was read, and deletions of files that have no resources left,
	// sorted by path.
	Changes []Change
}

// Output assigns resources to files. read are the packages that the resources were read from: their files without remaining
// resources are deleted.
//
// Output fails for a path that leaves the tree, lies in a .git directory, is a directory, or would overwrite a file that none
// of the packages was read from.
func (t *Tree) Output(resources []*yaml.RNode, read ...*Package) (Output, error) {
	before := map[string][]byte{}
	for _, p := range read {
		maps.Copy(before, p.files)
	}
	groups, err := t.byFile(resources)
	if err != nil {
		return Output{}, err
	}
	files := make([]File, 0, len(groups))
	for _, file := range slices.Sorted(maps.Keys(groups)) {
		files = append(files, File{Path: file})
	}
	err = parallel.Each(len(files), func(i int) (err error) {
		file := &files[i]
		if err := t.checkTarget(file.Path, groups, before); err != nil {
			return err
		}
		if content, exists := before[file.Path]; exists {
			file.Content, err = splice(file.Path, content, groups[file.Path])
		} else {
			file.Content, err = PrintFile(groups[file.Path])
		}
		if err != nil {
			return fmt.Errorf("print %s: %w", file.Path, err)
		}
		return nil
	})
	if err != nil {
		return Output{}, err
	}
	return Output{Files: files, Changes: changes(before, files)}, nil
}

func changes(before map[string][]byte, files []File) []Change {
	var list []Change
	gone := maps.Clone(before)
	for _, f := range files {
		delete(gone, f.Path)
		if old, ok := before[f.Path]; !ok || !bytes.Equal(old, f.Content) {
			list = append(list, Change{Path: f.Path, Before: old, After: f.Content})
		}
	}
	for p, content := range gone {
		list = append(list, Change{Path: p, Before: content})
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return list
}

func (t *Tree) byFile(resources []*yaml.RNode) (map[string][]*yaml.RNode, error) {
	groups := map[string][]*yaml.RNode{}
	for _, r := range resources {
		file, err := t.file(r)
		if err != nil {
			return nil, err
		}
		groups[file] = append(groups[file], r)
	}
	return groups, nil
}

// file returns the tree path of the file that a resource is assigned to.
func (t *Tree) file(r *yaml.RNode) (string, error) {
	p, root := resource.Path(r), t.source.Location()
	dir, err := filepath.Rel(root, cmp.Or(resource.Annotation(r, resource.PackageAnnotation), root))
	if err != nil || !filepath.IsLocal(dir) {
		return "", fmt.Errorf("resource must be written under package %s: %s is annotated with another package", root, p)
	}
	file := path.Join(dir, p)
	switch {
	case p == "" || file == ".":
		return "", fmt.Errorf("resource %s %q has no path to be written to", resource.Kind(r), resource.Name(r))
	case !fs.ValidPath(file):
		return "", fmt.Errorf("resource must be written under package %s: %s", root, path.Clean(p))
	case inGit(file):
		return "", fmt.Errorf("resource must not be written to git's own directory: %s", file)
	}
	return file, nil
}

// checkTarget rejects a path if writing it would overwrite an unrelated file or could fail.
func (t *Tree) checkTarget(file string, groups map[string][]*yaml.RNode, before map[string][]byte) error {
	isDir, exists := t.paths[file]
	if isDir {
		return fmt.Errorf("config.kubernetes.io/path cannot be a directory: %s", file)
	}
	if _, ours := before[file]; exists && !ours {
		return fmt.Errorf("resource must not be written to %s: the existing file is not a resource file of the package "+
			"(give the resource another path, or delete the file)", file)
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		isDir, exists := t.paths[dir]
		if _, ours := groups[dir]; ours || (exists && !isDir) {
			return fmt.Errorf("resource cannot be written to %s: %s is a file", file, dir)
		}
	}
	return nil
}
