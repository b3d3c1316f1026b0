// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package services_test

import (
	"flag"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write api.txt")

// The public API changes only on purpose: api.txt lists it. After the first release, removing or changing a line breaks importers.
func TestAPI(t *testing.T) {
	t.Parallel()
	var api strings.Builder
	packages := 0
	err := filepath.WalkDir(".", func(dir string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return err
		case entry.Name() == "internal" || entry.Name() == "testdata":
			return fs.SkipDir
		}
		declarations, err := exported(dir)
		if len(declarations) > 0 {
			packages++
			api.WriteString("package " + filepath.ToSlash(dir) + "\n\n" + strings.Join(declarations, "\n") + "\n\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if packages > 12 {
		t.Errorf("there are %d public packages, want at most 12: packages that importers do not need belong below internal", packages)
	}
	if *update {
		if err := os.WriteFile("api.txt", []byte(api.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("api.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), api.String()); diff != "" {
		t.Errorf("the public API differs from api.txt; if that is on purpose, run go test ./services -update (-want +got):\n%s", diff)
	}
}

// exported returns the exported declarations of a package, sorted, without comments and function bodies.
func exported(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var declarations []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.FileExports(file)
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok {
				f.Body = nil
			}
			if g, ok := declaration.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				continue
			}
			var text strings.Builder
			if err := format.Node(&text, set, declaration); err != nil {
				return nil, err
			}
			declarations = append(declarations, text.String())
		}
	}
	slices.Sort(declarations)
	return declarations, nil
}
