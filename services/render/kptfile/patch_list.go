// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// setTyped changes a list whose elements are known by the field key. Elements that are there already keep their place,
// and as long as nothing about them changes, their comments; new ones come last.
func setTyped(kf *yaml.RNode, path []string, key string, elements []typed, replace bool) error {
	if replace && len(elements) == 0 {
		return clearTyped(kf, path)
	}
	if len(elements) == 0 {
		return nil
	}
	list, err := kf.Pipe(yaml.LookupCreate(yaml.SequenceNode, path...))
	if err != nil {
		return fmt.Errorf("%s of the Kptfile: %w", strings.Join(path, "."), err)
	}
	n := list.YNode()
	if n.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s of the Kptfile is no list", strings.Join(path, "."))
	}
	// A list of nothing is in flow style, in which what is added would be hard to read.
	if len(n.Content) == 0 {
		n.Style &^= yaml.FlowStyle
	}
	if replace {
		n.Content = slices.DeleteFunc(n.Content, func(e *yaml.Node) bool {
			return !slices.ContainsFunc(elements, func(t typed) bool { return t.name == nameOf(e, key) })
		})
	}
	for _, e := range elements {
		node, err := encoded(e.value)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(n.Content, func(before *yaml.Node) bool { return nameOf(before, key) == e.name })
		switch {
		case at < 0:
			n.Content = append(n.Content, node)
		case !sameValue(n.Content[at], node):
			n.Content[at] = node
		}
	}
	return nil
}

// clearTyped removes the list, and what it was in when nothing else is there.
func clearTyped(kf *yaml.RNode, path []string) error {
	parent, last := path[:len(path)-1], path[len(path)-1]
	if err := kf.PipeE(yaml.Lookup(parent...), yaml.Clear(last)); err != nil {
		return fmt.Errorf("%s of the Kptfile: %w", strings.Join(path, "."), err)
	}
	if rest := kf.Field(parent[0]); rest == nil || len(rest.Value.Content()) > 0 {
		return nil
	}
	return kf.PipeE(yaml.Clear(parent[0]))
}

func nameOf(n *yaml.Node, key string) string {
	if f := yaml.NewRNode(n).Field(key); f != nil {
		return f.Value.YNode().Value
	}
	return ""
}

// sameValue tells whether two nodes say the same, whatever their comments and style.
func sameValue(a, b *yaml.Node) bool {
	aText, aErr := yaml.NewRNode(a).MarshalJSON()
	bText, bErr := yaml.NewRNode(b).MarshalJSON()
	return aErr == nil && bErr == nil && string(aText) == string(bText)
}
