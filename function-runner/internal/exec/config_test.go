// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/traits"
)

// executables returns a directory with the executables that the tests configure.
func executables(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"good": 0o755, "nested/good": 0o755, "plain": 0o644} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\ncat\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadFunctions(t *testing.T) {
	t.Parallel()
	dir := executables(t)
	const curated = "functions:\n- function: good\n  version: v0.2.0\n  images: [r.io/a:v0.2.0, r.io/a:v0.2, 'r.io/a@sha256:ab']\n" +
		"- function: nested/good\n  images: [r.io/b:v0.2.0]\n"
	tests := map[string]struct {
		config   string
		tags     Tags
		images   map[string]string
		traits   map[string]traits.Traits
		versions map[string]string
		problems []string
		err      string
	}{
		"relative, nested and absolute": {
			config: "functions:\n- function: good\n  images: [r.io/a:v1, 'r.io/a@sha256:ab', 'r.io/a:v2@sha256:cd']\n- function: nested/good\n  images: [r.io/b:v1]\n" +
				"- function: DIR/good\n  images: [r.io/c:v1]\n- function: /good\n  images: [r.io/d:v1]\n",
			images: map[string]string{
				"r.io/a:v1": "good", "r.io/a@sha256:ab": "good", "r.io/a:v9@sha256:ab": "good", "r.io/a@sha256:cd": "good", "r.io/a:v2": "", "r.io/a:v1@sha256:ef": "", "r.io/b:v1": "nested/good", "r.io/c:v1": "good", "r.io/d:v1": "good",
			},
		},
		"short names and default tags": {
			config: "functions:\n- function: good\n  images: [set-x:v1, y]\n",
			images: map[string]string{"pre.fix/set-x:v1": "good", "set-x:v1": "good", "y": "good", "pre.fix/y:latest": "good", "other/y": ""},
		},
		"traits": {
			config: "functions:\n- function: good\n  images: [a]\n  worker: true\n  deterministic: true\n  standby: false\n" +
				"- function: good\n  images: [b]\n  standby: true\n- function: good\n  images: [c]\n",
			traits: map[string]traits.Traits{"a": {Worker: true, Deterministic: true, NoStandby: true}, "b": {}, "c": {}},
		},
		"a version": {
			config:   "functions:\n- function: nested/good\n  version: v1.2.3\n  images: [a]\n- function: good\n  images: [b]\n",
			versions: map[string]string{"a": "good v1.2.3", "b": "good"},
		},
		"own tags": {
			config: curated,
			tags:   TagsOwn,
			images: map[string]string{"r.io/a:v0.2.0": "good", "r.io/a:v0.2": "good", "r.io/a:v0.2.1": "", "r.io/a": "", "r.io/a@sha256:ab": "good"},
		},
		"compatible tags": {
			config: curated,
			tags:   TagsCompatible,
			images: map[string]string{
				"r.io/a:v0.2.0": "good", "r.io/a:v0.2": "good", "r.io/a:v0.2.1": "good", "r.io/a:v0.1.5": "", "r.io/a": "", "x.io/a:v0.2.1": "",
				"r.io/a@sha256:ab": "good", "r.io/a:v0.2.1@sha256:cd": "", "r.io/b:v0.2.1": "", "r.io/b:v0.2.0": "nested/good",
			},
		},
		"all tags": {
			config: curated,
			tags:   TagsAll,
			images: map[string]string{
				"r.io/a:v0.2.0": "good", "r.io/a:v0.1.5": "good", "r.io/a": "good", "r.io/a:odd": "good", "x.io/a:v0.2.0": "",
				"r.io/a@sha256:ab": "good", "r.io/a:v0.2.0@sha256:cd": "", "r.io/b:v0.2.1": "", "r.io/b:v0.2.0": "nested/good",
			},
		},
		"no functions":         {config: "functions:\n"},
		"JSON":                 {config: `{"functions": [{"function": "good", "images": ["r.io/a:v1"]}]}`, images: map[string]string{"r.io/a:v1": "good"}},
		"unknown fields":       {config: "functions:\n- function: good\n  image: x\n  images: [r.io/a:v1]\nother: 1\n", images: map[string]string{"r.io/a:v1": "good"}, problems: []string{`line 3: unknown field "functions[0].image"`, `line 5: unknown field "other"`}},
		"the first entry wins": {config: "functions:\n- function: good\n  images: [x:v1]\n- function: nested/good\n  images: [pre.fix/x:v1, x:v2]\n", images: map[string]string{"x:v1": "good", "x:v2": "nested/good"}, problems: []string{`line 4: image "pre.fix/x:v1" of function "nested/good" is already at line 2`}},
		"unusable executables": {
			config: "functions:\n- function: gone\n  images: [a:v1]\n- function: plain\n  images: [b:v1]\n- function: nested\n  images: [c:v1]\n- function: ../x\n  images: [d:v1]\n- function: good\n  images: [e:v1]\n",
			images: map[string]string{"a:v1": "", "b:v1": "", "e:v1": "good"},
			problems: []string{
				`line 2: function "gone" is left out: executable DIR/gone is missing`,
				`line 4: function "plain" is left out: executable DIR/plain cannot be executed (mode -rw-r--r--)`,
				`line 6: function "nested" is left out: executable DIR/nested is not a file`,
				`line 8: function "../x" is left out: "../x" leads out of DIR`,
			},
		},
		"incomplete entries": {config: "functions:\n- images: [a:v1]\n- function: good\n", problems: []string{"line 2: the entry has no function", `line 3: function "good" has no images`}},
		"not an image":       {config: "functions:\n- function: good\n  images: ['a b']\n", problems: []string{`line 2: "a b" of function "good" is not an image reference`}},
		"not YAML":           {config: "functions:\n- function: [\n", err: "line 2: "},
		"empty":              {config: "", err: "line 1: the file is empty"},
		"a list":             {config: "- function: good\n", err: "line 1: this is not a mapping"},
		"functions a map":    {config: "functions:\n  good: x\n", err: "line 2: functions is not a list"},
		"an entry a scalar":  {config: "functions:\n- good\n", err: "line 2: functions[0] is not a mapping"},
		"images a scalar":    {config: "functions:\n- function: good\n  images: x\n", err: "line 3: functions[0].images is not a list"},
		"a trait a word":     {config: "functions:\n- function: good\n  images: [x]\n  worker: maybe\n", err: "line 4: functions[0].worker is not true or false"},
		"an unknown trait":   {config: "functions:\n- function: good\n  images: [x]\n  workers: true\n", images: map[string]string{"x": "good"}, problems: []string{`line 4: unknown field "functions[0].workers"`}},
		"a field twice":      {config: "functions:\n- function: good\n  function: good\n", err: `line 3: mapping key "function" already defined at line 2`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "config.yaml")
			write(t, file, strings.ReplaceAll(tc.config, "DIR", dir))
			functions, problems, err := loadFunctions(file, dir, "pre.fix/", tc.tags)
			if tc.err != "" {
				if want := "config file " + file + ", " + tc.err; err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("loadFunctions() error = %v, want the prefix %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range problems {
				got = append(got, strings.ReplaceAll(p.Error(), dir, "DIR"))
			}
			if diff := cmp.Diff(tc.problems, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			c := newCatalog(functions, "pre.fix/")
			for name, want := range tc.traits {
				if got := c.find(canonical(name, "pre.fix")).Traits; got != want {
					t.Errorf("traits of %s = %+v, want %+v", name, got, want)
				}
			}
			for name, want := range tc.versions {
				f := c.find(canonical(name, "pre.fix"))
				if version := strings.TrimPrefix(strings.TrimPrefix(want, "good"), " "); f.Implementation != want || f.Version != version {
					t.Errorf("%s: implementation = %q with version %q, want %q", name, f.Implementation, f.Version, want)
				}
			}
			for name, want := range tc.images {
				path := ""
				if f := c.find(canonical(name, "pre.fix")); f != nil {
					path = strings.TrimPrefix(f.Path, dir+"/")
				}
				if path != want {
					t.Errorf("executable of %s = %q, want %q", name, path, want)
				}
			}
		})
	}
}

func TestMissingConfigFile(t *testing.T) {
	t.Parallel()
	_, _, err := loadFunctions("/does/not/exist.yaml", ".", "", TagsOwn)
	if err == nil || !strings.Contains(err.Error(), "config file /does/not/exist.yaml is missing") {
		t.Errorf("loadFunctions() error = %v, want one that names the file", err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("functions:\n- function: a\n  images: [b]\n"))
	f.Add([]byte("functions: {}\nx: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, problems, err := parseConfig(text)
		if err != nil && (len(entries) > 0 || len(problems) > 0 || strings.Contains(err.Error(), "\n")) {
			t.Errorf("parseConfig() = %v, %v, %q, want no entries or problems with an error, and one line", entries, problems, err)
		}
	})
}
