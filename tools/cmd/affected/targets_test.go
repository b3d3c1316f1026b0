// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	gopath "path"
	"strings"
	"testing"
	"testing/fstest"
)

func module(path string, requires ...string) *fstest.MapFile {
	var text strings.Builder
	fmt.Fprintf(&text, "module %s\n\nrequire golang.org/x/mod v0.41.0\n\nrequire (\n", gopath.Join(own, path))
	for _, required := range requires {
		fmt.Fprintf(&text, "\t%s v0.1.0 // indirect\n", gopath.Join(own, required))
	}
	fmt.Fprintf(&text, ")\n\nreplace %s/nothing => ../nothing\n", own)
	return &fstest.MapFile{Data: []byte(text.String())}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	c, err := open(fstest.MapFS{
		"proto/go.mod":              module("proto"),
		"go.mod":                    module(".", "proto"),
		"internal/providers/go.mod": module("internal/providers", "."),
		"krmfn/go.mod":              module("krmfn", "."),
		"krmfn/reference_test.go":   {Data: []byte(`const reference = "../docs/krmfn.md"`)},
		"tools/go.mod":              module("tools"),
		"e2e/go.mod":                module("e2e"),
	}, []string{"proto", ".", "internal/providers", "krmfn", "tools", "e2e"})
	if err != nil {
		t.Fatal(err)
	}
	const dependsOnRoot = "test/. test/internal/providers test/krmfn test/e2e lint/. lint/internal/providers lint/krmfn lint/e2e"
	for name, tc := range map[string]struct{ files, want string }{
		"no file":                            {"", ""},
		"module without dependents":          {"tools/cmd/fuzz/main.go", "test/tools lint/tools"},
		"public package of the root module":  {"services/a.go", dependsOnRoot},
		"private package of the root module": {"internal/a/testdata/a.yaml", dependsOnRoot},
		"go.mod of the root module":          {"go.mod", dependsOnRoot + " lint-workspace"},
		"module that the root requires":      {"proto/a.go", "test/proto test/. test/internal/providers test/krmfn test/e2e lint/proto lint/. lint/internal/providers lint/krmfn lint/e2e"},
		"module in another module":           {"internal/providers/a.go", "test/internal/providers lint/internal/providers"},
		"module whose programs e2e runs":     {"krmfn/main.go", "test/krmfn test/e2e lint/krmfn lint/e2e"},
		"page":                               {"docs/operate.md", "test/e2e docs"},
		"page of a reference":                {"docs/krmfn.md", "test/krmfn test/e2e docs"},
		"page outside docs":                  {"README.md", "test/e2e"},
		"style of the site":                  {"tools/docs/site/static/site.css", "test/tools lint/tools lint-site"},
		"chart":                              {"charts/krmfn/values.yaml", "test/tools test/e2e lint-chart"},
		"configuration of Buf":               {"buf.yaml", "lint-generated lint-proto"},
		"two files with the same check":      {"tools/go.mod tools/go.sum", "test/tools lint/tools lint-workspace"},
		"configuration of the linter":        {"tools/cmd/fuzz/main.go .golangci.yml", "test lint"},
		"file without tests":                 {"LICENSE", ""},
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

// The pattern of every rule matches a file of the checkout.
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
