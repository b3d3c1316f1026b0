// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package ensurenamesubstring

import (
	"context"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/api/filters/fieldspec"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/identity"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is ensure-name-substring.
var Function = function.Function{
	Name:    "ensure-name-substring",
	Version: "v0.2.0",
	Summary: "prepends or appends a substring to the names that lack it",
	Config: "v1 ConfigMap, data.prepend or data.append: the substring\n" +
		"fn.kpt.dev/v1alpha1 EnsureNameSubstring, substring; editMode: prepend (default) or append; additionalNameFields: " +
		"more fields to edit, each with path, and as needed group, version, kind and create",
	Process: ensureNameSubstring,
}

// keepTheirNames are the kinds of which the name means something by itself.
var keepTheirNames = []resid.Gvk{
	{Kind: "CustomResourceDefinition"},
	{Group: "apiregistration.k8s.io", Kind: "APIService"},
	{Kind: "Namespace"},
	{Group: "kpt.dev", Kind: "Kptfile"},
}

// ensureNameSubstring renames every resource, local configuration too, of which the name lacks the substring, and then
// has those follow that refer to it by its name. A resource that is not as its kind should be is an error result and a
// failure; the others are done nevertheless.
func ensureNameSubstring(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	substring, err := nameSubstringOf(rl.FunctionConfig)
	if err != nil {
		rl.Results.Errorf("failed to load the `functionConfig`: %s", err)
		return false, nil
	}
	if err := identity.Check(rl.Items); err != nil {
		rl.Results.Errorf("failed to convert items to resource map: %s", err)
		return false, nil
	}
	renamed := renamedItems{}
	ok, err := nodes.Each(ctx, rl, func(item *fn.KubeObject) error {
		return substring.rename(item, renamed)
	})
	if err != nil || len(renamed) == 0 {
		return ok, err
	}
	if err := identity.Check(rl.Items); err != nil {
		rl.Results.Errorf("failed to rename items, of which two would be the same: %s", err)
		return false, nil
	}
	followed, err := nodes.Each(ctx, rl, func(item *fn.KubeObject) error {
		if err := renamed.followDependencies(item, substring.in); err != nil {
			return err
		}
		return renamed.followReferences(item, substring.in)
	})
	return ok && followed, err
}

// rename edits the name of a resource, and the user's own fields. It notes what the resource was called.
func (s nameSubstring) rename(item *fn.KubeObject, renamed renamedItems) error {
	return nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (changed bool, err error) {
		id := identity.Of(root)
		if slices.ContainsFunc(keepTheirNames, func(kind resid.Gvk) bool { return id.IsSelected(&kind) }) {
			return false, nil
		}
		setValue := func(value *yaml.RNode) error {
			if value.IsNil() || value.IsTaggedNull() {
				return nil
			}
			if err := yaml.ErrorIfInvalid(value, yaml.ScalarNode); err != nil {
				return err
			}
			if text := value.YNode().Value; s.in(text) != text {
				nodes.SetText(value.YNode(), s.in(text))
				changed = true
			}
			return nil
		}
		for _, field := range s.fields {
			filter := fieldspec.Filter{
				FieldSpec: field, SetValue: setValue, CreateKind: yaml.ScalarNode, CreateTag: yaml.NodeTagString,
			}
			if _, err := filter.Filter(yaml.NewRNode(root)); err != nil {
				return changed, err
			}
		}
		if s.in(id.Name) != id.Name {
			renamed[id.Name] = append(renamed[id.Name], id)
		}
		return changed, nil
	})
}
