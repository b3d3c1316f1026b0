// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package upsertresource

import (
	"context"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is upsert-resource.
var Function = function.Function{
	Name:    "upsert-resource",
	Version: "v0.2.0",
	Summary: "adds a resource, or puts it in the place of the one of the same group, kind, namespace and name",
	Config: "the resource, of any kind; annotation config.kubernetes.io/target-path: the file that it goes to\n" +
		"a List, items: several of them",
	Process: upsertResource,
}

// identity is what makes a resource the same as another one, in whatever version.
type identity struct{ group, kind, namespace, name string }

// upsertResource adds the resources of the functionConfig, or replaces those that they are the new form of.
func upsertResource(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	inputs, err := upsertsOf(rl.FunctionConfig)
	if err != nil {
		rl.Results.Errorf("failed to upsert resource: %s", err)
		return false, nil
	}
	places := map[identity][]int{} // in the list
	for i, item := range rl.Items {
		if isFunctionConfig(function.NodeOf(item)) {
			continue
		}
		id, err := identityOf(function.NodeOf(item))
		if err != nil {
			rl.Results.Errorf("failed to upsert resource: %s", err)
			return false, nil
		}
		places[id] = append(places[id], i)
	}
	forms := pathForms(rl.Items)
	for _, input := range inputs {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		replaced := false
		for _, i := range places[input.id] {
			if old := rl.Items[i]; input.targetPath == "" || origin.File(old).Path == input.targetPath {
				rl.Items[i] = input.inPlaceOf(function.NodeOf(old))
				replaced = true
			}
		}
		if !replaced {
			places[input.id] = append(places[input.id], len(rl.Items))
			rl.Items = append(rl.Items, input.added(forms))
		}
	}
	return true, nil
}

// identityOf tells what a resource is the form of.
func identityOf(root *yaml.Node) (identity, error) {
	meta, err := yaml.NewRNode(root).GetMeta()
	if err != nil {
		return identity{}, err
	}
	group, _ := resid.ParseGroupVersion(meta.APIVersion)
	return identity{group, meta.Kind, meta.Namespace, meta.Name}, nil
}

// isFunctionConfig tells whether a resource declares a function, in the form from before there were pipelines.
func isFunctionConfig(root *yaml.Node) bool {
	return slices.ContainsFunc(functionAnnotations, func(name string) bool { return nodes.Annotation(root, name) != "" })
}

// pathForms are the annotations by which the resources of a list know their files; the present one if none does.
func pathForms(items fn.KubeObjects) []string {
	var forms []string
	for _, form := range []string{fn.PathAnnotation, "config.kubernetes.io/path"} {
		if slices.ContainsFunc(items, func(item *fn.KubeObject) bool { return nodes.Annotation(function.NodeOf(item), form) != "" }) {
			forms = append(forms, form)
		}
	}
	if len(forms) == 0 {
		return []string{fn.PathAnnotation}
	}
	return forms
}
