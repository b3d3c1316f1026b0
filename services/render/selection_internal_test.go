// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestSelectResources(t *testing.T) {
	t.Parallel()
	var resources []*yaml.RNode
	for _, name := range []string{"a", "b", "c"} {
		resources = append(resources, yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "+name+"\n  labels: {of: "+name+"}\n"))
	}
	name := func(n string) kptfilev1.Selector { return kptfilev1.Selector{Name: n} }
	for title, tc := range map[string]struct {
		selectors, exclude []kptfilev1.Selector
		want               string
		unmatched          []string
	}{
		"all":                        {want: "abc"},
		"one":                        {selectors: []kptfilev1.Selector{name("b")}, want: "b"},
		"an empty selector":          {selectors: []kptfilev1.Selector{{}, name("b")}, want: "abc"},
		"all but one":                {exclude: []kptfilev1.Selector{name("b")}, want: "ac"},
		"an empty exclusion":         {exclude: []kptfilev1.Selector{{}}, want: "abc", unmatched: []string{"exclude 1 ({}) matches no resource"}},
		"none":                       {selectors: []kptfilev1.Selector{name("x")}, unmatched: []string{"selector 1 (name=x) matches no resource"}},
		"matched by two selectors":   {selectors: []kptfilev1.Selector{{Kind: "ConfigMap"}, name("c")}, want: "abc"},
		"excluded and not selected":  {selectors: []kptfilev1.Selector{name("a")}, exclude: []kptfilev1.Selector{name("b")}, want: "a"},
		"selected and then excluded": {selectors: []kptfilev1.Selector{name("a")}, exclude: []kptfilev1.Selector{{Kind: "ConfigMap"}}},
		"some selectors match":       {selectors: []kptfilev1.Selector{{Labels: map[string]string{"of": "z", "x": "y"}}, name("a")}, want: "a", unmatched: []string{"selector 1 (labels.of=z, labels.x=y) matches no resource"}},
		"some exclusions match":      {exclude: []kptfilev1.Selector{name("a"), {APIVersion: "v2", Namespace: "n"}}, want: "bc", unmatched: []string{"exclude 2 (apiVersion=v2, namespace=n) matches no resource"}},
	} {
		f := &kptfilev1.Function{Selectors: tc.selectors, Exclusions: tc.exclude}
		selected, unmatched := selectResources(f, resources)
		var got strings.Builder
		for _, r := range selected {
			got.WriteString(r.GetName())
		}
		if diff := cmp.Diff(tc.want, got.String()) + cmp.Diff(tc.unmatched, unmatched); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
		if _, unmatched := selectResources(f, nil); unmatched != nil {
			t.Errorf("%s: unmatched without resources = %q, want none", title, unmatched)
		}
	}
}
