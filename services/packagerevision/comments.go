// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/resource"
)

// identity is what a resource is known by, in whichever file it is.
type identity struct{ apiVersion, kind, namespace, name string }

func identify(r *yaml.RNode) identity {
	return identity{resource.APIVersion(r), resource.Kind(r), resource.Namespace(r), resource.Name(r)}
}

// keepComments returns the files after a change with the comments of the resources before. Files in which none is missing
// stay byte for byte as they are, and so do those that cannot be read: what is wrong with them is the render's to say.
func keepComments(before, after map[string]string) map[string]string {
	kept := maps.Clone(after)
	var known map[identity]*yaml.RNode
	for p, content := range after {
		if before[p] == content || !packages.IsResourceFile(p) || templated(content) {
			continue
		}
		if known == nil {
			known = commented(before)
		}
		if with, changed := withComments(p, content, known); changed {
			kept[p] = with
		}
	}
	return kept
}

// templated tells whether comments are the code of a template language, ytt: which must not come back by themselves.
func templated(content string) bool {
	return strings.Contains(content, "#@") || strings.Contains(content, "#!")
}

// commented returns the resources of files that may have comments.
func commented(files map[string]string) map[identity]*yaml.RNode {
	known := map[identity]*yaml.RNode{}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		content := files[p]
		if !packages.IsResourceFile(p) || !strings.Contains(content, "#") || templated(content) {
			continue
		}
		resources, err := packages.ParseFile(p, []byte(content))
		if err != nil {
			continue
		}
		for _, r := range resources {
			if id := identify(r); known[id] == nil {
				known[id] = r
			}
		}
	}
	return known
}

func withComments(p, content string, known map[identity]*yaml.RNode) (with string, changed bool) {
	resources, err := packages.ParseFile(p, []byte(content))
	if err != nil {
		return "", false
	}
	for _, r := range resources {
		changed = resource.RestoreComments(known[identify(r)], r) || changed
	}
	if !changed {
		return "", false
	}
	printed, err := packages.PrintFile(resources)
	return string(printed), err == nil
}
