// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package modules has the go.mod files of this repository require each other's released versions. Inside the repository
// replace directives stand in for them; whoever imports a module from outside gets what the file requires.
package modules

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/mod/modfile"
)

// Root is the directory of the module that has services and internal.
const Root = "."

const rootPath = "github.com/krmfn/krmfn"

// Path is the path of the module in a directory of the repository.
func Path(dir string) string { return path.Join(rootPath, dir) }

// Tag is the tag in git of a version of the module in a directory, as the go command expects it.
func Tag(dir, version string) string { return path.Join(dir, version) }

// Files are the paths of the files that the module in a directory has, apart from text.
func Files(dir string) []string {
	if dir == Root {
		return []string{"go.mod", "go.sum", "internal", "services"}
	}
	return []string{dir}
}

// directory is the directory of a module of this repository. found is false for other modules.
func directory(module string) (dir string, found bool) {
	if module == rootPath {
		return Root, true
	}
	return strings.CutPrefix(module, rootPath+"/")
}

// Required returns the modules of this repository that a go.mod file requires: versions by directory.
func Required(file string) (map[string]string, error) {
	f, _, err := parse(file)
	if err != nil {
		return nil, err
	}
	required := make(map[string]string)
	for _, r := range f.Require {
		if dir, own := directory(r.Mod.Path); own {
			required[dir] = r.Mod.Version
		}
	}
	return required, nil
}

// Require sets the versions, by directory, of what a go.mod file requires of this repository. It adds no requirement, and
// does not write to a file that has the versions already.
func Require(file string, versions map[string]string) error {
	f, before, err := parse(file)
	if err != nil {
		return err
	}
	for _, r := range f.Require {
		dir, own := directory(r.Mod.Path)
		if version, found := versions[dir]; own && found {
			if err := f.AddRequire(r.Mod.Path, version); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	after, err := f.Format()
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if bytes.Equal(before, after) {
		return nil
	}
	return os.WriteFile(file, after, 0o644)
}

func parse(file string) (*modfile.File, []byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	f, err := modfile.Parse(file, data, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("read module: %w", err)
	}
	return f, data, nil
}
