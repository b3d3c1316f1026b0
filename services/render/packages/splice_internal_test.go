// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
)

const (
	odd   = "# licence\n\napiVersion: v1\nkind:   A\nmetadata: {name: odd}\ntext: >\n    folded\n    text\nlist:\n    - &x 1\n    - *x\n"
	other = "apiVersion: v1\nkind: A\nmetadata:\n  name: other\n"
)

func TestSplice(t *testing.T) {
	t.Parallel()
	const touched = "apiVersion: v1\nkind: A\nmetadata:\n  name: other\n  labels: {touched: \"yes\"}\n"
	for name, tc := range map[string]struct {
		before string
		// changes has one letter per resource: k keeps it, c changes it, d deletes it. n adds a resource.
		changes string
		want    string
	}{
		"nothing":                       {before: "---\n" + odd, changes: "k", want: "---\n" + odd},
		"no final line end":             {before: strings.TrimSuffix(odd, "\n"), changes: "k", want: strings.TrimSuffix(odd, "\n")},
		"sequence":                      {before: "-   a\n---\n" + other, changes: "kc", want: "-   a\n---\n" + touched},
		"one of two":                    {before: odd + "---\n" + other, changes: "kc", want: odd + "---\n" + touched},
		"licence in its own document":   {before: "# licence\n\n---\n" + other, changes: "c", want: "# licence\n\n---\n" + touched},
		"separators":                    {before: "--- # a\n" + other + "---   # b\n\n---\n" + odd, changes: "ck", want: "--- # a\n" + touched + "---   # b\n\n---\n" + odd},
		"comment after the dashes":      {before: "---  # a \n# b\n" + other, changes: "c", want: "---  # a \n# b\n" + touched},
		"comment after a separator":     {before: odd + "--- # a\n# b\n" + other, changes: "kc", want: odd + "--- # a\n# b\n" + touched},
		"separator at the end":          {before: other + "---\n", changes: "c", want: touched + "---\n"},
		"first is deleted":              {before: other + "---\n" + odd, changes: "dk", want: odd},
		"first is deleted, not comment": {before: "# c\n---\n" + other + "---\n" + odd, changes: "dk", want: "# c\n---\n" + odd},
		"last is deleted":               {before: odd + "---\n" + other + "# foot\n", changes: "kd", want: odd},
		"added":                         {before: odd, changes: "kn", want: odd + "---\n" + other},
		"added, no final line end":      {before: odd + "---\n# c", changes: "kn", want: odd + "---\n# c\n---\n" + other},
		"added after a separator":       {before: odd + "---\n", changes: "kn", want: odd + "---\n" + other},
		"added after unended text":      {before: "kind: A\nmetadata: {name: a}\ntext: |\n    a", changes: "kn", want: "kind: A\nmetadata: {name: a}\ntext: |-\n  a\n---\n" + other},
		"line ends":                     {before: strings.ReplaceAll(odd+"---\n"+other, "\n", "\r\n"), changes: "kcn", want: strings.ReplaceAll(odd+"---\n"+touched+"---\n"+other, "\n", "\r\n")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := splice("a.yaml", []byte(tc.before), change(t, tc.before, tc.changes))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("splice() (-want +got):\n%s", diff)
			}
		})
	}
}

// change applies the letters of TestSplice to the resources of a file. Resources without a letter are kept.
func change(t testing.TB, before, changes string) []*yaml.RNode {
	t.Helper()
	read, err := parse([]byte(before), "a.yaml", "/")
	if err != nil {
		t.Skip(err)
	}
	var resources []*yaml.RNode
	for i := range max(len(changes), len(read)) {
		letter := byte('k')
		if i < len(changes) {
			letter = changes[i]
		}
		switch {
		case i >= len(read):
			if letter == 'n' {
				resources = append(resources, yaml.MustParse(other))
			}
		case letter == 'c':
			label := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: []*yaml.Node{yamlnode.String("touched", 0), yamlnode.String("yes", yaml.DoubleQuotedStyle)}}
			metadata := yamlnode.Lookup(read[i].YNode(), "metadata")
			if metadata == nil || metadata.Kind != yaml.MappingNode {
				t.Skip("no metadata")
			}
			metadata.Content = append(metadata.Content, yamlnode.String("labels", 0), label)
			resources = append(resources, read[i])
		case letter != 'd':
			resources = append(resources, read[i])
		}
	}
	return resources
}

// FuzzSplice changes, deletes and adds resources of an arbitrary file. Unchanged documents must keep their bytes, and the
// result must parse to the intended resources.
func FuzzSplice(f *testing.F) {
	for _, text := range []string{odd, other, "# c\n---\n" + odd + "---\n" + other + "---\n# c", strings.ReplaceAll(odd+"---\n"+other, "\n", "\r\n"), "---\n---\n" + other + "...\n---\n" + odd, "kind: A\nmetadata: {name: a}\ntext: |+\n  a\n\n---\n" + other} {
		for _, changes := range []string{"", "c", "kc", "dk", "ddn", "kkn"} {
			f.Add(text, changes)
		}
	}
	f.Fuzz(func(t *testing.T, before, changes string) {
		documents, err := parseDocuments([]byte(before), "a.yaml", "/")
		if err != nil {
			return
		}
		resources := change(t, before, changes)
		if len(resources) == 0 {
			return
		}
		after, err := splice("a.yaml", []byte(before), resources)
		if err != nil {
			return
		}
		rest, number := string(after), 0
		for i, d := range documents {
			if d.resource != nil {
				number++
				if number <= len(changes) && (changes[number-1] == 'c' || changes[number-1] == 'd') || i == len(documents)-1 && !strings.HasSuffix(d.text, "\n") {
					continue
				}
			}
			_, behind, found := strings.Cut(rest, d.text)
			if !found {
				t.Fatalf("document lost:\n%q\nfrom:\n%q\nafter changes %q:\n%q", d.text, before, changes, after)
			}
			rest = behind
		}
		sameAsPrinted(t, before, after, resources)
	})
}

// sameAsPrinted compares the resources of the spliced file with the resources parsed after printing each on its own.
func sameAsPrinted(t *testing.T, before string, after []byte, resources []*yaml.RNode) {
	t.Helper()
	got, err := parse(after, "a.yaml", "/")
	var want []*yaml.RNode
	for _, r := range resources {
		text, printErr := printDocument(r)
		if printErr != nil {
			return
		}
		again, readErr := parse(text, "a.yaml", "/")
		if readErr != nil || len(again) != 1 || !yamlnode.SameValues(resource.WithoutPlace(r.YNode()), resource.WithoutPlace(again[0].YNode())) {
			// The encoder prints some nodes incorrectly.
			return
		}
		want = append(want, again[0])
	}
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %d resources, want %d, error %v; result:\n%q\nbefore:\n%q", len(got), len(want), err, after, before)
	}
	for i := range want {
		if a, b := resource.WithoutPlace(want[i].YNode()), resource.WithoutPlace(got[i].YNode()); !yamlnode.SameValues(a, b) {
			t.Errorf("resource %d differs; result:\n%q\nbefore:\n%q", i, after, before)
		}
	}
}
