// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package renaming renames resources and updates references to them.
package renaming

import (
	"context"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/api/filters/fieldspec"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/identity"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// fixedNameKinds lists the kinds whose names have a meaning and must not change, such as the name of a CustomResourceDefinition.
var fixedNameKinds = []resid.Gvk{
	{Kind: "CustomResourceDefinition"},
	{Group: "apiregistration.k8s.io", Kind: "APIService"},
	{Kind: "Namespace"},
	{Group: "kpt.dev", Kind: "Kptfile"},
}

// Rename sets the name of every resource, including local configuration, to newName(name), applies newName to the fields more,
// and then updates references to renamed resources. newName must be idempotent. A resource with an invalid structure becomes an
// error result and makes Rename return false; other resources are still renamed.
func Rename(ctx context.Context, rl *fn.ResourceList, newName func(string) string, more ...types.FieldSpec) (bool, error) {
	if err := identity.Check(rl.Items); err != nil {
		rl.Results.Errorf("failed to convert items to resource map: %s", err)
		return false, nil
	}
	renamed := renamedItems{}
	fields := append([]types.FieldSpec{{Path: "metadata/name"}}, more...)
	ok, err := nodes.Each(ctx, rl, func(item *fn.KubeObject) error { return rename(item, newName, fields, renamed) })
	if err != nil || len(renamed) == 0 {
		return ok, err
	}
	if err := identity.Check(rl.Items); err != nil {
		rl.Results.Errorf("failed to rename items, because two would have the same identity: %s", err)
		return false, nil
	}
	followed, err := nodes.Each(ctx, rl, func(item *fn.KubeObject) error {
		if err := renamed.followDependencies(item, newName); err != nil {
			return err
		}
		return renamed.followReferences(item, newName)
	})
	return ok && followed, err
}

// rename edits the name and other fields of a resource, and records its old identity.
func rename(item *fn.KubeObject, newName func(string) string, fields []types.FieldSpec, renamed renamedItems) error {
	return nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (changed bool, err error) {
		id := identity.Of(root)
		if slices.ContainsFunc(fixedNameKinds, func(kind resid.Gvk) bool { return id.IsSelected(&kind) }) {
			return false, nil
		}
		setValue := func(value *yaml.RNode) error {
			if value.IsNil() || value.IsTaggedNull() {
				return nil
			}
			if err := yaml.ErrorIfInvalid(value, yaml.ScalarNode); err != nil {
				return err
			}
			if text := value.YNode().Value; newName(text) != text {
				nodes.SetText(value.YNode(), newName(text))
				changed = true
			}
			return nil
		}
		for _, field := range fields {
			filter := fieldspec.Filter{
				FieldSpec: field, SetValue: setValue, CreateKind: yaml.ScalarNode, CreateTag: yaml.NodeTagString,
			}
			if _, err := filter.Filter(yaml.NewRNode(root)); err != nil {
				return changed, err
			}
		}
		if newName(id.Name) != id.Name {
			renamed[id.Name] = append(renamed[id.Name], id)
		}
		return changed, nil
	})
}
