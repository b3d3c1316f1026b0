// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmfn/krmfn/function-runner/runner"
	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Implementation says, for people, what evaluates a curated function.
func Implementation(f function.Function) string { return f.Name + " " + f.Version + " (curated)" }

// install gives every curated function an executable in dir: a link of its name to one program.
func install(dir string, c Config) ([]runner.Executable, error) {
	all := functions.All()
	list := make([]runner.Executable, 0, len(all))
	for _, f := range all {
		link := filepath.Join(dir, f.Name)
		if err := os.Symlink(c.Executable, link); err != nil {
			return nil, fmt.Errorf("make an executable of function %s: %w", f.Name, err)
		}
		list = append(list, runner.Executable{
			Name: f.Name, Path: link, Implementation: Implementation(f), Images: images(f, c.StrictVersions), AnyTag: !c.StrictVersions,
		})
	}
	return list, nil
}

// images are the references that a function answers to: those of the catalog under either of its prefixes, and the short
// name. With strict they have the tags of the function's own version.
func images(f function.Function, strict bool) []string {
	names := []string{f.Name, reference.CatalogPrefix + "/" + f.Name, reference.FormerCatalogPrefix + "/" + f.Name}
	if !strict {
		return names
	}
	tagged := make([]string, 0, len(names)*len(f.Tags()))
	for _, name := range names {
		for _, tag := range f.Tags() {
			tagged = append(tagged, name+":"+tag)
		}
	}
	return tagged
}
