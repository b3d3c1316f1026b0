// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// EditUnshared calls edit with a resource in which no two fields share a value through an alias. Otherwise, changing one field
// would change others too, and edit might not terminate for an alias that contains itself. If the resource has aliases, edit
// gets a copy with the aliases expanded. If edit reports a change, the copy replaces the resource, with aliases restored where
// nothing changed.
//
// After an error, a resource with aliases is unchanged.
func EditUnshared(root *yaml.Node, edit func(root *yaml.Node) (changed bool, err error)) error {
	if !yamlnode.Contains(root, yamlnode.IsAlias) {
		_, err := edit(root)
		return err
	}
	own := yamlnode.Copy(root)
	if err := ExpandAliases(own); err != nil {
		return err
	}
	changed, err := edit(own)
	if err == nil && changed {
		yamlnode.RestoreAliases(root, own)
		*root = *own
	}
	return err
}

// OwnField returns the value of a field for modification, or nil. If other parts of the resource share the value through an
// alias, OwnField first expands all aliases below root, so that only this field changes.
func OwnField(root, mapping *yaml.Node, name string) (*yaml.Node, error) {
	value := yamlnode.Field(mapping, name)
	if value == nil || value.Anchor == "" && value.Kind != yaml.AliasNode {
		return value, nil
	}
	if err := ExpandAliases(root); err != nil {
		return nil, err
	}
	return yamlnode.Field(mapping, name), nil
}

// ExpandAliases replaces every alias below root with a copy of its target. It fails if the result has more than
// [function.MaxNodes] nodes.
func ExpandAliases(root *yaml.Node) error { return yamlnode.ExpandAliases(root, function.MaxNodes) }

// Each calls edit for each item. An error of edit becomes an error result and makes ok false. err is the context's error.
func Each(ctx context.Context, rl *fn.ResourceList, edit func(item *fn.KubeObject) error) (ok bool, err error) {
	ok = true
	for _, item := range rl.Items {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if err := edit(item); err != nil {
			rl.LogResult(fn.ErrorConfigObjectResult(err, item))
			ok = false
		}
	}
	return ok, nil
}
