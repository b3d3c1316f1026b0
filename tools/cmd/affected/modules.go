// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// own is the path of the module at the root, and the prefix of the paths of the others.
const own = "github.com/krmfn/krmfn"

// rootModule is the directory of the module at the root. Its packages are in services and internal.
const rootModule = "."

// checkout is a checkout with the modules to test and lint.
type checkout struct {
	files fs.FS
	// modules holds directories, in the order of the Makefile.
	modules []string
	// imports holds the modules of this repository that each module imports, or whose programs its tests start.
	imports map[string][]string
}

var required = regexp.MustCompile(`(?m)^(?:require )?\s*` + regexp.QuoteMeta(own) + `(/\S+)? v`)

func open(files fs.FS, modules []string) (*checkout, error) {
	c := &checkout{files: files, modules: modules, imports: map[string][]string{}}
	for _, module := range modules {
		text, err := fs.ReadFile(c.files, path.Join(module, "go.mod"))
		if err != nil {
			return nil, err
		}
		for _, found := range required.FindAllSubmatch(text, -1) {
			required := cmp.Or(strings.TrimPrefix(string(found[1]), "/"), rootModule)
			c.imports[module] = append(c.imports[module], required)
		}
	}
	// The tests of e2e start programs of these modules.
	c.imports["e2e"] = append(c.imports["e2e"], "functions", "krmfn", "wrapper-server")
	return c, nil
}

// module returns the innermost module that a file belongs to, "" if none.
func (c *checkout) module(file string) string {
	found := ""
	for _, module := range c.modules {
		if contains(module, file) && len(module) > len(found) {
			found = module
		}
	}
	return found
}

// contains reports whether a file is in the directory of a module, which nested modules share.
func contains(module, file string) bool {
	if module == rootModule {
		return file == "go.mod" || file == "go.sum" || strings.HasPrefix(file, "services/") || strings.HasPrefix(file, "internal/")
	}
	return strings.HasPrefix(file, module+"/")
}

// addDependents adds the modules that depend on a module of the set.
func (c *checkout) addDependents(affected map[string]bool) {
	for grown := true; grown; {
		grown = false
		for module, imports := range c.imports {
			if !affected[module] && slices.ContainsFunc(imports, func(m string) bool { return affected[m] }) {
				affected[module], grown = true, true
			}
		}
	}
}

// mentioning returns the modules whose tests contain a text.
func (c *checkout) mentioning(text string) ([]string, error) {
	var all []string
	for _, module := range c.modules {
		found := false
		err := fs.WalkDir(c.files, module, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || found || entry.IsDir() || !strings.HasSuffix(file, "_test.go") || c.module(file) != module {
				return err
			}
			source, err := fs.ReadFile(c.files, file)
			found = bytes.Contains(source, []byte(text))
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("search %s for %s: %w", module, text, err)
		}
		if found {
			all = append(all, module)
		}
	}
	return all, nil
}
