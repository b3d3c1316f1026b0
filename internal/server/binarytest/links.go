// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package binarytest has tests for the packages that a program links and for its size.
package binarytest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Import is an import of a package by another.
type Import struct {
	Importer, Imported string
}

// Imports returns the imports of all packages that the program in the test's directory links, built with the flags of the Makefile and
// additional build tags.
func Imports(t *testing.T, tags ...string) []Import {
	t.Helper()
	const imports = "{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}\n{{end}}"
	tags = append([]string{"grpcnotrace"}, tags...)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", strings.Join(tags, ","), "-f", imports, ".")
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []Import
	for line := range strings.Lines(string(out)) {
		importer, imported, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, Import{importer, imported})
	}
	return all
}

// Denied fails the test if the program in the test's directory links a denied package, or a package below it. The failure names the
// imports to remove, which are the imports of denied packages by other packages.
func Denied(t *testing.T, imports []Import, denied ...string) {
	t.Helper()
	for _, i := range imports {
		if Matches(i.Imported, denied) && !Matches(i.Importer, denied) {
			t.Errorf("%s imports %s, which this program must not link", i.Importer, i.Imported)
		}
	}
}

// Matches reports whether a package is one of the listed packages, or below one of them.
func Matches(pkg string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return pkg == p || strings.HasPrefix(pkg, p+"/") })
}
