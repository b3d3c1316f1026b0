// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// editUnshared lets edit change a resource in which no value is shared: where the resource has aliases, edit is given a
// copy without them, which takes the place of the resource if edit changed it. Otherwise a change of one field would be
// one of every field that shares its value, and an alias that stands for itself would have no end.
//
// On an error, a resource with aliases is as it was.
func editUnshared(root *yaml.Node, edit func(root *yaml.Node) (changed bool, err error)) error {
	if !hasAliasBelow(root) {
		_, err := edit(root)
		return err
	}
	own := yaml.CopyYNode(root)
	if err := expandAliases(own); err != nil {
		return err
	}
	changed, err := edit(own)
	if err == nil && changed {
		*root = *own
	}
	return err
}

// hasAliasBelow reports whether there is an alias anywhere in a resource.
func hasAliasBelow(node *yaml.Node) bool {
	return hasAlias(node) || slices.ContainsFunc(node.Content, hasAliasBelow)
}

// setText gives a scalar another text, which reads back as a string. Quotes and comments stay.
func setText(scalar *yaml.Node, text string) {
	made := stringNode(text)
	scalar.Value, scalar.Tag = made.Value, made.Tag
	if scalar.Style == 0 {
		scalar.Style = made.Style
	}
}
