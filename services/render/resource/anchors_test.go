// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
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
		if got := resource.Finite(yaml.MustParse(in)); got != want {
			t.Errorf("Finite(%q) = %v", in, got)
		}
	}
}

func TestOwnAnchors(t *testing.T) {
	t.Parallel()
	list := yaml.MustParse("- a: &x {b: c}\n  d: *x\n- e: *x\n  f: &y [1]\n  <<: *x\n  g: *y\n").YNode()
	first, err := resource.OwnAnchors(list.Content[0])
	if err != nil || first != list.Content[0] {
		t.Errorf("an item that needs nothing else was copied (%v)", err)
	}
	second, err := resource.OwnAnchors(list.Content[1])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("e: {b: c}\nf: [1]\n<<: {b: c}\ng: [1]\n", yaml.NewRNode(second).MustString()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	var bomb strings.Builder
	bomb.WriteString("- l0: &l0 [a, a]\n")
	for i := range 40 {
		fmt.Fprintf(&bomb, "- l%d: &l%d [*l%d, *l%d]\n", i+1, i+1, i, i)
	}
	items := yaml.MustParse(bomb.String()).YNode().Content
	if _, err := resource.OwnAnchors(items[len(items)-1]); err == nil {
		t.Error("an alias that stands for 2^41 nodes was written out")
	}
}
