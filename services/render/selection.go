// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strconv"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
)

// selects reports whether a function has selectors or exclusions.
func selects(f *kptfilev1.Function) bool { return len(f.Selectors) > 0 || len(f.Exclusions) > 0 }

// selectResources returns the resources that a function gets, in their order: those that match any selector, or all if there
// are no selectors, except those that match any exclusion. An empty selector matches everything, an empty exclusion nothing.
// unmatched describes selectors and exclusions that match no resource.
func selectResources(f *kptfilev1.Function, resources []*yaml.RNode) (selected []*yaml.RNode, unmatched []string) {
	if !selects(f) {
		return resources, nil
	}
	selectors, exclusions := newSelection("selector", f.Selectors), newSelection("exclude", f.Exclusions)
	for _, r := range resources {
		match := selectors.match(r) || len(f.Selectors) == 0
		if !exclusions.match(r) && match {
			selected = append(selected, r)
		}
	}
	if len(resources) == 0 {
		return nil, nil
	}
	return selected, append(selectors.unmatched(), exclusions.unmatched()...)
}

// selection is a list of selectors with a record of which have matched.
type selection struct {
	title     string
	selectors []kptfilev1.Selector
	matched   []bool
}

func newSelection(title string, selectors []kptfilev1.Selector) selection {
	return selection{title, selectors, make([]bool, len(selectors))}
}

// match reports whether any selector matches a resource, and updates matched.
func (s selection) match(r *yaml.RNode) bool {
	found := false
	for i := range s.selectors {
		if found && s.matched[i] {
			continue
		}
		if (s.title != "exclude" || !s.selectors[i].IsEmpty()) && matches(&s.selectors[i], r) {
			s.matched[i], found = true, true
		}
	}
	return found
}

func (s selection) unmatched() []string {
	var texts []string
	for i := range s.selectors {
		if !s.matched[i] {
			texts = append(texts, fmt.Sprintf("%s %d (%s) matches no resource", s.title, i+1, DescribeSelector(&s.selectors[i])))
		}
	}
	return texts
}

// matches reports whether a resource has the values of all fields that the selector sets.
func matches(s *kptfilev1.Selector, r *yaml.RNode) bool {
	equal := func(want, got string) bool { return want == "" || want == got }
	if !equal(s.APIVersion, resource.APIVersion(r)) || !equal(s.Kind, resource.Kind(r)) ||
		!equal(s.Name, resource.Name(r)) || !equal(s.Namespace, resource.Namespace(r)) {
		return false
	}
	for key, want := range s.Labels {
		if got, ok := resource.Label(r, key); !ok || got != want {
			return false
		}
	}
	for key, want := range s.Annotations {
		if got, ok := resource.LookupAnnotation(r, key); !ok || got != want {
			return false
		}
	}
	return true
}

// merge combines the output of a function that got a selection with the remaining resources. Resources that were not selected
// stay in place, returned resources replace their originals, selected resources that were not returned are removed, and new
// resources are appended. Resources are matched by id annotations. A resource with the id of one that was not selected counts
// as new.
func (in *input) merge(output []*yaml.RNode) []*yaml.RNode {
	given := make(map[*yaml.RNode]bool, len(in.selected))
	for _, r := range in.selected {
		given[r] = true
	}
	returned := make(map[*yaml.RNode]*yaml.RNode, len(output))
	var added []*yaml.RNode
	for _, r := range output {
		origin := in.selectionOrigin(r)
		if i := in.origin(r); !given[origin] {
			origin = nil
			if i >= 0 {
				origin = in.selected[i]
			}
		}
		if origin == nil || returned[origin] != nil {
			added = append(added, r)
			continue
		}
		returned[origin] = r
	}
	merged := make([]*yaml.RNode, 0, len(in.all)+len(added))
	for _, r := range in.all {
		if back := returned[r]; back != nil {
			merged = append(merged, back)
		} else if !given[r] {
			merged = append(merged, r)
		}
	}
	return append(merged, added...)
}

// selectionOrigin returns the resource of the package with the output resource's selection id; nil if there is none.
func (in *input) selectionOrigin(r *yaml.RNode) *yaml.RNode {
	n, err := strconv.Atoi(resource.Annotation(r, resource.SelectionIDAnnotation))
	if err != nil || n < 0 || n >= len(in.all) {
		return nil
	}
	return in.all[n]
}
