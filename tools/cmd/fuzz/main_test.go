// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const source = `package p

import "testing"

func FuzzGood(f *testing.F) {
	f.Add("a")
	f.Fuzz(func(*testing.T, string) {})
}

func FuzzBad(f *testing.F) {
	f.Add("a")
	f.Fuzz(func(t *testing.T, s string) {
		if s == "a" {
			t.Fatal("found")
		}
	})
}
`

func TestEveryTargetRuns(t *testing.T) {
	t.Parallel()

	var out strings.Builder
	err := run(t.Context(), []string{"-root", checkout(t), "-time", "100x", "m"}, &out)
	if err == nil || !strings.Contains(err.Error(), "m/p/FuzzBad: exit status 1") || strings.Contains(err.Error(), "FuzzGood") {
		t.Errorf("run() error = %v, want an error of FuzzBad only", err)
	}
	want := regexp.MustCompile(`\nTARGET +INPUTS +CORPUS +TIME\nm/p/FuzzGood +\d{3,} +1 +\d+s\nm/p/FuzzBad +\d+ +\d+ +\d+s\n$`)
	if !want.MatchString(out.String()) {
		t.Errorf("output does not end with the table:\n%s", &out)
	}
}

func TestList(t *testing.T) {
	t.Parallel()

	root := checkout(t)
	tests := map[string]struct{ match, want, err string }{
		"all":    {"", `{"include":[{"dir":"m/p","name":"FuzzGood"},{"dir":"m/p","name":"FuzzBad"}]}` + "\n", ""},
		"one":    {"p/FuzzG", `{"include":[{"dir":"m/p","name":"FuzzGood"}]}` + "\n", ""},
		"none":   {"other", "", "no fuzz target matches"},
		"broken": {"(", "", "-match"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var out strings.Builder
			err := run(t.Context(), []string{"-root", root, "-list", "-match", test.match, "m"}, &out)
			if (err == nil) != (test.err == "") || (err != nil && !strings.Contains(err.Error(), test.err)) {
				t.Errorf("run() error = %v, want %q", err, test.err)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

// checkout creates a checkout with one module that has one package with fuzz targets.
func checkout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for file, content := range map[string]string{
		"m/go.mod": "module m\n\ngo 1.26.0\n", "m/p/p_test.go": source, "m/p/testdata/p_test.go": source,
		"m/other/go.mod": "module other\n", "m/other/p_test.go": source,
	} {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
