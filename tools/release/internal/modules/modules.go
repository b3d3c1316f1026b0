// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package modules has the go.mod files of this repository require each other's released versions. Inside the repository
// replace directives stand in for them; whoever imports a module from outside gets what the file requires.
package modules

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/modfile"
)

const prefix = "github.com/krmfn/krmfn/"

// Path is the path of the module in a directory of the repository.
func Path(dir string) string { return prefix + dir }

// Required returns the modules of this repository that a go.mod file requires: versions by directory.
func Required(file string) (map[string]string, error) {
	f, _, err := parse(file)
	if err != nil {
		return nil, err
	}
	required := make(map[string]string)
	for _, r := range f.Require {
		if dir, own := strings.CutPrefix(r.Mod.Path, prefix); own {
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
		dir, own := strings.CutPrefix(r.Mod.Path, prefix)
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
