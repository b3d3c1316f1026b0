// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTagDependsOnRecipe(t *testing.T) {
	t.Parallel()
	tags := make(map[string]bool)
	for _, in := range [][2]string{{"amd64", "v0.33.0"}, {"arm64", "v0.33.0"}, {"amd64", "v0.34.0"}} {
		tag, err := Tag(Newest, in[0], in[1])
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^krmfn/kind-node:v1\.36\.3-[0-9a-f]{12}$`).MatchString(tag) || !IsBuilt(tag) {
			t.Errorf("Tag() = %s, want krmfn/kind-node:v1.36.3-HASH", tag)
		}
		again, err := Tag(Newest, in[0], in[1])
		if err != nil || again != tag {
			t.Errorf("second Tag() = %s, %v, want %s", again, err, tag)
		}
		tags[tag] = true
	}
	if len(tags) != 3 {
		t.Errorf("tags = %v, want a different one for each input", tags)
	}
	if IsBuilt(Newest.Published()) {
		t.Errorf("IsBuilt(%s) = true, want false", Newest.Published())
	}
}

func TestHashFilesCoversNamesAndContents(t *testing.T) {
	t.Parallel()
	hash := func(files fstest.MapFS) string {
		var w bytes.Buffer
		if err := hashFiles(&w, files); err != nil {
			t.Fatal(err)
		}
		return w.String()
	}
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	base := hash(fstest.MapFS{"a/b": file("1"), "c": file("2")})
	for name, other := range map[string]fstest.MapFS{
		"content":          {"a/b": file("1"), "c": file("3")},
		"name":             {"a/b": file("1"), "d": file("2")},
		"moved to another": {"a/b": file("12"), "c": file("")},
	} {
		if base == hash(other) {
			t.Errorf("hashFiles() ignores a change of %s", name)
		}
	}
}

func TestHashCodeCoversOnlyDeclarations(t *testing.T) {
	t.Parallel()
	hash := func(files map[string]string) string {
		all := fstest.MapFS{}
		for name, text := range files {
			all[name] = &fstest.MapFile{Data: []byte(text)}
		}
		var w bytes.Buffer
		if err := hashCode(&w, all); err != nil {
			t.Fatal(err)
		}
		return w.String()
	}
	const a, b = "import \"x/y\"\n\nvar a = y.A\n", "func b() {\n\tprintln(1)\n}\n"
	base := hash(map[string]string{"a.go": "package p\n" + a, "b.go": "package p\n" + b})
	for name, same := range map[string]map[string]string{
		"import":     {"a.go": "package p\nimport (\n\t\"z/y\"\n)\nvar a = y.A", "b.go": "package p\n" + b},
		"comment":    {"a.go": "package p\n" + a, "b.go": "package p\n// b prints.\nfunc b() {\n\n\tprintln(1) // one\n}"},
		"file":       {"c.go": "package p\n" + a + b},
		"test":       {"a.go": "package p\n" + a, "b.go": "package p\n" + b, "b_test.go": "package p\nvar c = 1"},
		"no Go file": {"a.go": "package p\n" + a, "b.go": "package p\n" + b, "README.md": "text"},
	} {
		if base != hash(same) {
			t.Errorf("hashCode() depends on a change of %s", name)
		}
	}
	if base == hash(map[string]string{"a.go": "package p\n" + a, "b.go": "package p\nfunc b() { println(2) }"}) {
		t.Error("hashCode() ignores a change of code")
	}
}

func TestComponentsHaveTheirVersions(t *testing.T) {
	t.Parallel()
	hashes := make(map[string]bool)
	for _, c := range all() {
		hashes[c.hash("amd64")], hashes[c.hash("arm64")] = true, true
		mod, err := recipe.ReadFile("recipe/modules/" + c.name + ".mod")
		if err != nil {
			t.Fatal(err)
		}
		for _, variable := range c.variables {
			name, value, _ := strings.Cut(variable, "=")
			if !strings.HasPrefix(value, "v") {
				continue
			}
			if !strings.Contains(string(mod), " "+value+"\n") {
				t.Errorf("variable %s = %s, but %s.mod requires another version", name, value, c.name)
			}
		}
	}
	if len(hashes) != 2*len(all()) {
		t.Errorf("got %d hashes of %d components for two architectures, want %d", len(hashes), len(all()), 2*len(all()))
	}
}
