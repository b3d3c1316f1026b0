// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path"
	"slices"
	"strings"
)

// rule is what a changed file affects, in addition to its own module and the modules that depend on that one.
type rule struct {
	// file is a pattern of path.Match for the name of the file. A pattern with a trailing slash is a directory.
	file string
	// modules are modules whose tests read the file. checks are targets of the Makefile.
	modules, checks []string
}

var rules = []rule{
	{file: "charts/", modules: []string{"e2e", "tools"}, checks: []string{"lint-chart"}},
	{file: "docs/", modules: []string{"e2e"}, checks: []string{"docs"}},
	{file: "examples/", modules: []string{"e2e", "krmfn"}},
	{file: "integrations/", modules: []string{"e2e", "krmfn"}},
	{file: ".pre-commit-hooks.yaml", modules: []string{"krmfn"}},
	{file: ".github/", modules: []string{"e2e"}, checks: []string{"lint-workflows"}},
	{file: "versions.yaml", modules: []string{"e2e", "tools"}},
	{file: "buf*.yaml", checks: []string{"lint-proto", "lint-generated"}},
	{file: "*.proto", checks: []string{"lint-proto", "lint-generated"}},
	{file: "proto/gen/", checks: []string{"lint-generated"}},
	{file: "tools/cmd/protoc-gen-go-grpc-package/", checks: []string{"lint-generated"}},
	{file: "tools/cmd/kube-schemas/", checks: []string{"lint-generated"}},
	{file: "functions/kubeconform/", checks: []string{"lint-generated"}},
	{file: "e2e/chart/testdata/kubernetes/", checks: []string{"lint-generated"}},
	{file: "tools/docs/", checks: []string{"lint-site"}},
	{file: "tools/cmd/checksite/", checks: []string{"docs"}},
	{file: "e2e/docs/site/", checks: []string{"lint-site"}},
	{file: "go.mod", checks: []string{"lint-workspace"}},
	{file: "go.sum", checks: []string{"lint-workspace"}},
	{file: "go.work*", checks: []string{"lint-workspace"}},
}

// everything lists the files that affect how all modules are tested or linted.
var everything = []string{"Makefile", ".golangci.yml"}

func matches(pattern, file string) bool {
	if strings.HasSuffix(pattern, "/") {
		return strings.HasPrefix(file, pattern)
	}
	matched, err := path.Match(pattern, path.Base(file))
	return matched && err == nil
}

// targets returns the targets that check the changed files, tests first.
func (c *checkout) targets(files []string) ([]string, error) {
	compiled, reading := map[string]bool{}, map[string]bool{}
	var checks []string
	for _, file := range files {
		if slices.ContainsFunc(everything, func(pattern string) bool { return matches(pattern, file) }) {
			return []string{"test", "lint"}, nil
		}
		compiled[c.module(file)] = true
		for _, r := range rules {
			if matches(r.file, file) {
				checks = append(checks, r.checks...)
				add(reading, r.modules)
			}
		}
		// The tests of e2e check the links of all pages. Others generate pages or run their examples.
		if path.Ext(file) == ".md" || strings.HasPrefix(file, "docs/") {
			mentioning, err := c.mentioning(path.Base(file))
			if err != nil {
				return nil, err
			}
			add(reading, append(mentioning, "e2e"))
		}
	}
	c.addDependents(compiled)
	var tests, lints []string
	for _, module := range c.modules {
		if compiled[module] || reading[module] {
			tests = append(tests, "test/"+module)
		}
		if compiled[module] {
			lints = append(lints, "lint/"+module)
		}
	}
	slices.Sort(checks)
	return slices.Concat(tests, lints, slices.Compact(checks)), nil
}

func add(set map[string]bool, elements []string) {
	for _, element := range elements {
		set[element] = true
	}
}
