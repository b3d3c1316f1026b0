// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

func TestFinite(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"a: &x {b: c}\nd: *x\n":          true,
		"a: &x [b]\nc: &y [*x]\nd: *y\n": true,
		"a: &x [b, *x]\n":                false,
		"a: &x {b: {c: [*x]}}\n":         false,
		"a: &x {b: &y {c: *x}}\n":        false,
	} {
		if got := yamlnode.Finite(yaml.MustParse(in).YNode()); got != want {
			t.Errorf("Finite(%q) = %v, want %v", in, got, want)
		}
	}
}

func TestDetach(t *testing.T) {
	t.Parallel()
	list := yaml.MustParse("- a: &x {b: c}\n  d: *x\n- e: *x\n  f: &y [1]\n  <<: *x\n  g: *y\n").YNode()
	first, err := yamlnode.Detach(list.Content[0])
	if err != nil || first != list.Content[0] {
		t.Errorf("Detach() copied an item without foreign aliases (error %v)", err)
	}
	second, err := yamlnode.Detach(list.Content[1])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("e: {b: c}\nf: [1]\n<<: {b: c}\ng: [1]\n", yaml.NewRNode(second).MustString()); diff != "" {
		t.Errorf("Detach() (-want +got):\n%s", diff)
	}

	var bomb strings.Builder
	bomb.WriteString("- l0: &l0 [a, a]\n")
	for i := range 40 {
		fmt.Fprintf(&bomb, "- l%d: &l%d [*l%d, *l%d]\n", i+1, i+1, i, i)
	}
	items := yaml.MustParse(bomb.String()).YNode().Content
	if _, err := yamlnode.Detach(items[len(items)-1]); err == nil {
		t.Error("Detach() of an alias that expands to 2^41 nodes = nil, want an error")
	}
}

const copied = `# of the document
apiVersion: v1 # of a value
kind: ConfigMap
metadata:
  name: a
  labels: {x: "1", y: "2"}
data:
  list: [a, b]
  nested:
  - c: d
`

func TestCopy(t *testing.T) {
	t.Parallel()
	original := yaml.MustParse(copied)
	before := original.MustString()
	made := yaml.NewRNode(yamlnode.Copy(original.YNode()))
	if got := made.MustString(); got != before {
		t.Errorf("Copy() =\n%s\nwant\n%s", got, before)
	}
	// A change to one place of the copy must not show at another place or in the original.
	for _, field := range []string{"metadata", "data"} {
		if err := made.PipeE(yaml.Lookup(field), yaml.SetField("new", yaml.NewStringRNode(field))); err != nil {
			t.Fatal(err)
		}
	}
	if err := made.PipeE(yaml.Lookup("data", "list"), yaml.Append(yaml.NewStringRNode("c").YNode())); err != nil {
		t.Fatal(err)
	}
	want := yaml.MustParse(copied)
	if err := want.PipeE(yaml.Tee(yaml.Lookup("metadata"), yaml.SetField("new", yaml.NewStringRNode("metadata"))),
		yaml.Tee(yaml.Lookup("data"), yaml.SetField("new", yaml.NewStringRNode("data"))),
		yaml.Tee(yaml.Lookup("data", "list"), yaml.Append(yaml.NewStringRNode("c").YNode()))); err != nil {
		t.Fatal(err)
	}
	if got := made.MustString(); got != want.MustString() {
		t.Errorf("changed copy =\n%s\nwant\n%s", got, want.MustString())
	}
	if got := original.MustString(); got != before {
		t.Errorf("changing the copy changed the original:\n%s", got)
	}
	if yamlnode.Copy(nil) != nil {
		t.Error("Copy(nil) is not nil")
	}
}
