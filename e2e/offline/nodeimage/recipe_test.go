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

func TestTagIsThatOfTheRecipe(t *testing.T) {
	t.Parallel()
	tags := make(map[string]bool)
	for _, in := range [][2]string{{"amd64", "v0.33.0"}, {"arm64", "v0.33.0"}, {"amd64", "v0.34.0"}} {
		tag, err := Tag(in[0], in[1])
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^krmfn/kind-node:v1\.36\.3-[0-9a-f]{12}$`).MatchString(tag) || !IsBuilt(tag) {
			t.Errorf("tag %s", tag)
		}
		again, err := Tag(in[0], in[1])
		if err != nil || again != tag {
			t.Errorf("tag %s, then %s (%v)", tag, again, err)
		}
		tags[tag] = true
	}
	if len(tags) != 3 {
		t.Errorf("tags %v, want one for each input", tags)
	}
	if IsBuilt(Published) {
		t.Errorf("%s is not built here", Published)
	}
}

func TestHashFilesSeesNamesAndContentsButNoTests(t *testing.T) {
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
	if base != hash(fstest.MapFS{"a/b": file("1"), "c": file("2"), "c_test.go": file("3")}) {
		t.Error("a test counts")
	}
	for name, other := range map[string]fstest.MapFS{
		"content":          {"a/b": file("1"), "c": file("3")},
		"name":             {"a/b": file("1"), "d": file("2")},
		"moved to another": {"a/b": file("12"), "c": file("")},
	} {
		if base == hash(other) {
			t.Errorf("%s does not count", name)
		}
	}
}

func TestComponentsAreTheVersionsThatTheySay(t *testing.T) {
	t.Parallel()
	hashes := make(map[string]bool)
	for _, c := range components {
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
				t.Errorf("%s is %s, which %s.mod does not require", name, value, c.name)
			}
		}
	}
	if len(hashes) != 2*len(components) {
		t.Errorf("%d hashes of %d components for two architectures", len(hashes), len(components))
	}
}
