// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func module(path string, requires ...string) *fstest.MapFile {
	var text strings.Builder
	fmt.Fprintf(&text, "module %s%s\n\nrequire golang.org/x/mod v0.41.0\n\nrequire (\n", own, path)
	for _, required := range requires {
		fmt.Fprintf(&text, "\t%s%s v0.1.0 // indirect\n", own, required)
	}
	fmt.Fprintf(&text, ")\n\nreplace %snothing => ../nothing\n", own)
	return &fstest.MapFile{Data: []byte(text.String())}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	c, err := open(fstest.MapFS{
		"proto/go.mod":            module("proto"),
		"services/go.mod":         module("services", "proto"),
		"services/images/go.mod":  module("services/images", "services"),
		"krmfn/go.mod":            module("krmfn", "services"),
		"krmfn/reference_test.go": {Data: []byte(`const reference = "../docs/krmfn.md"`)},
		"tools/go.mod":            module("tools"),
		"e2e/go.mod":              module("e2e"),
	}, []string{"proto", "services", "services/images", "krmfn", "tools", "e2e"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ files, want string }{
		"nothing":                     {"", ""},
		"a module that none imports":  {"tools/cmd/fuzz/main.go", "test/tools lint/tools"},
		"one with dependents":         {"services/a.go", "test/services test/services/images test/krmfn test/e2e lint/services lint/services/images lint/krmfn lint/e2e"},
		"a module in another one":     {"services/images/a.go", "test/services/images lint/services/images"},
		"one whose programs e2e runs": {"krmfn/main.go", "test/krmfn test/e2e lint/krmfn lint/e2e"},
		"a page":                      {"docs/operate.md", "test/e2e docs"},
		"a page of a reference":       {"docs/krmfn.md", "test/krmfn test/e2e docs"},
		"a page elsewhere":            {"README.md", "test/e2e"},
		"the site's style":            {"tools/docs/site/static/site.css", "test/tools lint/tools lint-site"},
		"the chart":                   {"charts/krmfn/values.yaml", "test/e2e lint-chart"},
		"the contract":                {"buf.yaml", "lint-generated lint-proto"},
		"two with the same check":     {"tools/go.mod tools/go.sum", "test/tools lint/tools lint-workspace"},
		"the linter's configuration":  {"tools/cmd/fuzz/main.go .golangci.yml", "test lint"},
		"no source":                   {"LICENSE", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.targets(strings.Fields(tc.files))
			if joined := strings.Join(got, " "); err != nil || joined != tc.want {
				t.Errorf("targets(%s) = %s, %v, want %s", tc.files, joined, err, tc.want)
			}
		})
	}
}

func TestOpenWithoutModule(t *testing.T) {
	t.Parallel()
	if _, err := open(fstest.MapFS{}, []string{"nowhere"}); err == nil || !strings.Contains(err.Error(), "nowhere/go.mod") {
		t.Errorf("open() error = %v, want one that names nowhere/go.mod", err)
	}
}

// Every rule is about files of the checkout.
func TestRulesMatchFiles(t *testing.T) {
	t.Parallel()
	var files []string
	err := fs.WalkDir(os.DirFS("../../.."), ".", func(file string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && (file == ".git" || file == "build" || file == "bin") {
			return fs.SkipDir
		}
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	patterns := everything
	for _, r := range rules {
		patterns = append(patterns, r.file)
	}
	for _, pattern := range patterns {
		found := false
		for _, file := range files {
			found = found || matches(pattern, file)
		}
		if !found {
			t.Errorf("no file matches %s", pattern)
		}
	}
}
