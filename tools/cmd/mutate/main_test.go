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

const code = `package p

func larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}
`

const codeTest = `package p

import "testing"

func TestLarger(t *testing.T) {
	if got := larger(2, 1); got != 2 {
		t.Errorf("larger(2, 1) = %d, want 2", got)
	}
}
`

var (
	found    = mutation{"p.go", "a > b", "a < b", "the smaller one is returned"}
	untested = mutation{"p.go", "return b", "return a", "the first one is returned"}
	invalid  = mutation{"p.go", "return b", "", "nothing is returned"}
)

func TestRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mutations []mutation
		args      []string
		test      string
		// out is a regular expression for the output. wantErr holds substrings of the error.
		out     string
		wantErr []string
	}{
		"killed": {
			mutations: []mutation{found},
			out:       `^killed +\d+s  m/p/p.go: the smaller one is returned \(TestLarger\)\n\nPACKAGE +MUTATIONS +KILLED +RATE\nm/p +1 +1 +100%\n$`,
		},
		"survived": {
			mutations: []mutation{found, untested},
			out:       `\nSURVIVED +\d+s  m/p/p.go: the first one is returned\n\nPACKAGE.*\nm/p +2 +1 +50%\n$`,
			wantErr:   []string{"m/p: the tests detect 50% of the mutations, want at least 95%"},
		},
		"does not compile": {
			mutations: []mutation{invalid},
			out:       `^BROKEN +\d+s  m/p/p.go: nothing is returned\n`,
			wantErr:   []string{"m/p/p.go: nothing is returned: does not compile:", "missing return"},
		},
		"selected": {
			mutations: []mutation{found, untested},
			args:      []string{"-match", "p.go: the smaller"},
			out:       `\nm/p +1 +1 +100%\n$`,
		},
		"none is selected": {mutations: []mutation{found}, args: []string{"-match", "other"}, wantErr: []string{"no mutation matches"}},
		"text found twice": {
			mutations: []mutation{{"p.go", "return", "panic(1); return", "everything"}, found},
			wantErr:   []string{`m/p/p.go: everything: the file contains "return" 2 times`},
		},
		"text not found": {
			mutations: []mutation{{"p.go", "a == b", "", "nothing"}, {"q.go", "a", "b", "nothing"}},
			args:      []string{"-match", "other"},
			wantErr:   []string{`m/p/p.go: nothing: the file contains "a == b" 0 times`, "m/p/q.go: nothing: open "},
		},
		"nothing replaced":       {mutations: []mutation{{"p.go", "a > b", "a > b", "nothing"}}, wantErr: []string{"a different replacement"}},
		"tests that always fail": {mutations: []mutation{found}, test: "func TestOther(t *testing.T) { t.Error() }", wantErr: []string{"the tests of m/p fail without a mutation"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			files := map[string]string{"go.mod": "module m\n\ngo 1.26.0\n", "p/p.go": code, "p/p_test.go": codeTest + tc.test}
			write(t, filepath.Join(root, "m"), files)
			var out strings.Builder
			err := run(t.Context(), append([]string{"-root", root}, tc.args...), &out, []table{{"m/p", []string{"."}, tc.mutations}})
			if (err != nil) != (len(tc.wantErr) > 0) {
				t.Errorf("run() error = %v, want error: %t", err, len(tc.wantErr) > 0)
			}
			for _, want := range tc.wantErr {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("run() error = %v, want %q", err, want)
				}
			}
			if !regexp.MustCompile(tc.out).MatchString(out.String()) {
				t.Errorf("output = %q, want a match of %q", out.String(), tc.out)
			}
			for file, want := range files {
				if got, err := os.ReadFile(filepath.Join(root, "m", file)); err != nil || string(got) != want {
					t.Errorf("ReadFile(%s) error = %v (-want +got):\n%s", file, err, cmp.Diff(want, string(got)))
				}
			}
		})
	}
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for file, content := range files {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
