// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
)

// onePrints is the approximate number of items that one encoder prints.
const onePrints = 50

func TestEncodeMatchesEncoder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := &input{}
		some := rapid.SliceOfN(rapid.Custom(item), 1, 5).Draw(t, "some")
		for i := range rapid.IntRange(0, 3*onePrints).Draw(t, "items") {
			in.selected = append(in.selected, yaml.MustParse(some[i%len(some)]))
		}
		if len(in.selected) > onePrints && rapid.Bool().Draw(t, "odd") {
			// Like items of a function's output.
			odd := in.selected[rapid.IntRange(onePrints-1, onePrints).Draw(t, "border")].YNode()
			switch comment := "# one\n# two"; rapid.IntRange(0, 2).Draw(t, "comment") {
			case 0:
				odd.HeadComment = comment
			case 1:
				odd.FootComment = comment
			default:
				odd.Content[len(odd.Content)-2].FootComment = comment
			}
		}
		if rapid.Bool().Draw(t, "configured") {
			in.config = yaml.MustParse(item(t))
		}
		in.all = in.selected
		got, err := in.encode()
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		whole := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
			yamlnode.String("apiVersion", 0), yamlnode.String("config.kubernetes.io/v1", 0), yamlnode.String("kind", 0), yamlnode.String("ResourceList", 0), yamlnode.String("items", 0), itemsNode(in.selected),
		}}
		if in.config != nil {
			whole.Content = append(whole.Content, yamlnode.String("functionConfig", 0), in.config.YNode())
		}
		if err := yaml.NewEncoder(&want).Encode(whole); err != nil {
			t.Fatal(err)
		}
		text := withoutIDs(string(got))
		if diff := cmp.Diff(want.String(), text); diff != "" {
			t.Fatalf("(-whole +parts):\n%s", diff)
		}
	})
}

// withoutIDs removes the id annotations, which only functions see.
func withoutIDs(list string) string {
	var kept strings.Builder
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, "      internal.config.kubernetes.io/id:") && !strings.HasPrefix(line, "      config.k8s.io/id:") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// item draws a resource with all kinds of comments and scalars, except those that force the list to be printed at once.
func item(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap # line\nmetadata:\n  name: x\n  annotations:\n    # before\n    a: b\n")
	for i := range rapid.IntRange(0, 3).Draw(t, "fields") {
		value := rapid.SampledFrom([]string{
			"plain", "'single'", `"double \n \" x"`, "1.50", "~", "{a: b, c: [d]}", "[]", "|\n  a\n   b\n\n  c", "|+\n  a\n\n", "|-\n  a\n",
			"a # comment", "\n  deep:\n    deeper: x # y", "\n  # before\n  a: b", "\n- a # x\n-  b: c\n   # y\n   d: e # f", `""`,
		}).Draw(t, "value")
		fmt.Fprintf(&b, "field%d: %s\n", i, value)
	}
	return b.String()
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, internal, former, before, want string }{
		{"nothing changed", "a", "a", "a", "a"},
		{"new form changed", "b", "a", "a", "b"},
		{"former form changed", "a", "b", "a", "b"},
		{"both changed alike", "b", "b", "a", "b"},
		{"new form only", "b", "", "", "b"},
		{"former form only", "", "b", "", "b"},
		{"new form removed", "", "a", "a", "a"},
		{"former form removed", "a", "", "a", "a"},
		{"new resource that disagrees", "a", "b", "", "mismatched"},
		{"both changed", "b", "c", "a", "mismatched"},
		{"neither", "", "", "a", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := yaml.MustParse("kind: A\n")
			for key, value := range map[string]string{resource.PathAnnotation: tc.internal, resource.FormerPathAnnotation: tc.former} {
				if value == "" {
					continue
				}
				if err := resource.SetAnnotation(r, key, value); err != nil {
					t.Fatal(err)
				}
			}
			got := "mismatched"
			if err := reconcilePlace(r, tc.before, ""); err == nil {
				got = resource.Annotation(r, resource.FormerPathAnnotation)
			} else if err.Error() != "resource input to function has mismatched legacy and internal path annotations" {
				t.Error(err)
			}
			if got != tc.want {
				t.Errorf("reconcilePlace() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCheckAllKRM(t *testing.T) {
	t.Parallel()
	bad := yaml.MustParse("kind: A\nmetadata:\n  annotations:\n    config.kubernetes.io/path: a.yaml\n")
	if err := checkAllKRM([]*yaml.RNode{bad}); err == nil || err.Error() != "a.yaml: resource must have `apiVersion`" {
		t.Errorf("checkAllKRM() = %v", err)
	}
}
