// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package modules maps the Go modules of this repository to directories, tags and files, and updates the versions in their go.mod files.
// Replace directives override these versions within the repository, but not for programs outside of it.
package modules

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/mod/modfile"
)

// Root is the directory of the module at the root. Its packages are in services and internal.
const Root = "."

const rootPath = "github.com/krmfn/krmfn"

// Path returns the path of the module in a directory of the repository.
func Path(dir string) string { return path.Join(rootPath, dir) }

// Tag returns the git tag for a version of the module in a directory, in the form that the go command expects.
func Tag(dir, version string) string { return path.Join(dir, version) }

// Files returns the paths of the files and directories that belong to the module in a directory, without its documentation.
func Files(dir string) []string {
	if dir == Root {
		return []string{"go.mod", "go.sum", "internal", "services"}
	}
	return []string{dir}
}

// directory returns the directory of a module of this repository. found is false for other modules.
func directory(module string) (dir string, found bool) {
	if module == rootPath {
		return Root, true
	}
	return strings.CutPrefix(module, rootPath+"/")
}

// Required returns the versions of this repository's modules that a go.mod file requires, by directory.
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

// Require updates the versions of this repository's modules in a go.mod file. versions holds them by directory. Require adds no
// requirement, and does not write a file that would not change.
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
		return nil, nil, fmt.Errorf("read go.mod: %w", err)
	}
	return f, data, nil
}
