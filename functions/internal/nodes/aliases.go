// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// EditUnshared lets edit change a resource in which no value is shared: where the resource has aliases, edit is given a
// copy without them, which takes the place of the resource if edit changed it, with aliases where nothing changed. Otherwise a change of one field would be
// one of every field that shares its value, and an alias that stands for itself would have no end.
//
// On an error, a resource with aliases is as it was.
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

// OwnField returns the value of a field that is to be changed, or nil: where other parts of the resource share the value
// through an alias, all aliases below root are expanded first, so that only this field changes.
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

// ExpandAliases replaces every alias below a node by a copy of what it stands for. The error says that they stand for more
// than [function.MaxNodes].
func ExpandAliases(root *yaml.Node) error { return yamlnode.ExpandAliases(root, function.MaxNodes) }

// Each edits every item. What fails is an error result, and makes ok false.
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
