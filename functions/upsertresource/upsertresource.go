// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package upsertresource implements the function upsert-resource.
package upsertresource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function upsert-resource.
var Function = function.Function{
	Name:    "upsert-resource",
	Version: "v0.2.0",
	Summary: "adds a resource, or replaces the one with the same group, kind, namespace and name",
	Traits:  function.Traits{Worker: true, Deterministic: true},
	Config: "the resource, of any kind; annotation config.kubernetes.io/target-path: the file that it goes to\n" +
		"a List, items: several of them",
	Process:   upsertResource,
	KeepsList: true,
}

// identity identifies a resource regardless of its version.
type identity struct{ group, kind, namespace, name string }

// upsertResource adds the resources of the functionConfig, or replaces those with the same identity.
func upsertResource(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	inputs, err := upsertsOf(rl.FunctionConfig)
	if err != nil {
		rl.Results.Errorf("failed to upsert resource: %s", err)
		return false, nil
	}
	places := map[identity][]int{} // indexes in the list
	for i, item := range rl.Items {
		if isFunctionConfig(function.NodeOf(item)) {
			continue
		}
		id, err := identityOf(function.NodeOf(item))
		if errors.Is(err, yaml.ErrMissingMetadata) {
			continue
		}
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
				rl.Items[i] = input.replacementOf(function.NodeOf(old))
				replaced = true
			}
		}
		if !replaced {
			places[input.id] = append(places[input.id], len(rl.Items))
			rl.Items = append(rl.Items, input.newItem(forms))
		}
	}
	return true, nil
}

// identityOf returns the identity of a resource.
func identityOf(root *yaml.Node) (identity, error) {
	meta, err := yaml.NewRNode(root).GetMeta()
	if err != nil {
		return identity{}, err
	}
	group, _ := resid.ParseGroupVersion(meta.APIVersion)
	return identity{group, meta.Kind, meta.Namespace, meta.Name}, nil
}

// isFunctionConfig reports whether a resource declares a function in the old form, without a pipeline.
func isFunctionConfig(root *yaml.Node) bool {
	return slices.ContainsFunc(functionAnnotations, func(name string) bool { return nodes.Annotation(root, name) != "" })
}

// pathForms returns the path annotation keys that the resources of a list use, or the current key if none is used.
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

const targetPath = "config.kubernetes.io/target-path"

var functionAnnotations = []string{"config.kubernetes.io/function", "config.k8s.io/function"}

// identifying are the annotations by which kpt finds the comments of a resource. They belong to its previous content.
var identifying = []string{"internal.config.kubernetes.io/id", "config.k8s.io/id", "internal.kpt.dev/upstream-identifier"}

// upsert is a resource in the functionConfig.
type upsert struct {
	root       *yaml.Node
	id         identity
	targetPath string // "" matches any path
}

// upsertsOf returns copies of the resources in a functionConfig.
func upsertsOf(config *fn.KubeObject) ([]upsert, error) {
	roots := []*yaml.Node{function.NodeOf(config)}
	if config.GetKind() == "List" {
		items := yamlnode.Field(roots[0], "items")
		if items != nil && items.Kind == yaml.AliasNode {
			items = items.Alias
		}
		switch {
		case yamlnode.IsNull(items):
			return nil, nil
		case items.Kind != yaml.SequenceNode:
			return nil, errors.New("items of the functionConfig is not a list")
		}
		roots = items.Content
	}
	inputs := make([]upsert, 0, len(roots))
	for i, root := range roots {
		if yamlnode.Resolve(root).Kind != yaml.MappingNode {
			return nil, fmt.Errorf("items[%d] of the functionConfig is not a map", i)
		}
		input, err := upsertOf(root)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, input)
	}
	return inputs, nil
}

// upsertOf returns an upsert with a copy of the resource that shares no nodes.
func upsertOf(root *yaml.Node) (upsert, error) {
	own := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{yamlnode.Copy(root)}}
	if err := nodes.ExpandAliases(own); err != nil {
		return upsert{}, err
	}
	root = own.Content[0]
	yamlnode.DropAnchors(root)
	id, err := identityOf(root)
	if err != nil {
		return upsert{}, err
	}
	if metadata := yamlnode.Field(root, "metadata"); !yamlnode.IsNull(metadata) {
		if err := nodes.CheckMapping(metadata, "metadata"); err != nil {
			return upsert{}, err
		}
		if annotations := yamlnode.Field(metadata, "annotations"); !yamlnode.IsNull(annotations) {
			if err := nodes.CheckMapping(annotations, "annotations"); err != nil {
				return upsert{}, err
			}
		}
	}
	return upsert{root: root, id: id, targetPath: nodes.Annotation(root, targetPath)}, nil
}

// replacementOf returns the resource that replaces old, in the same file.
func (u upsert) replacementOf(old *yaml.Node) *fn.KubeObject {
	annotations := u.annotations()
	for annotation := range slices.Chunk(nodes.Annotations(old), 2) {
		if name := annotation[0].Value; origin.IsBookkeeping(name) && !slices.Contains(identifying, name) {
			annotations = append(annotations, nodes.String(name), nodes.String(nodes.Annotation(old, name)))
		}
	}
	return u.withAnnotations(annotations)
}

// newItem returns the resource as an additional item. forms are the keys of the path annotation, if there is a target path.
func (u upsert) newItem(forms []string) *fn.KubeObject {
	annotations := u.annotations()
	for _, form := range forms {
		if u.targetPath != "" {
			annotations = append(annotations, nodes.String(form), nodes.String(u.targetPath))
		}
	}
	return u.withAnnotations(annotations)
}

// annotations returns a copy of the resource's own annotations as alternating names and values. If the functionConfig is a file
// of the package, annotations about that file are omitted.
func (u upsert) annotations() []*yaml.Node {
	var own []*yaml.Node
	for annotation := range slices.Chunk(nodes.Annotations(u.root), 2) {
		name := annotation[0].Value
		about := origin.IsBookkeeping(name) && name != "internal.kpt.dev/upstream-identifier"
		if name != targetPath && !about && !slices.Contains(functionAnnotations, name) {
			own = append(own, yamlnode.Copy(annotation[0]), yamlnode.Copy(annotation[1]))
		}
	}
	return own
}

// withAnnotations returns a copy of the resource with the given annotations, sorted by name.
func (u upsert) withAnnotations(annotations []*yaml.Node) *fn.KubeObject {
	root := yamlnode.Copy(u.root)
	metadata := yamlnode.Field(root, "metadata")
	if yamlnode.IsNull(metadata) {
		metadata = yamlnode.MakeMapping(root, nodes.String("metadata"))
	}
	made := yamlnode.Field(metadata, "annotations")
	switch {
	case len(annotations) == 0:
		yamlnode.Remove(metadata, "annotations")
	case yamlnode.IsNull(made):
		made = yamlnode.MakeMapping(metadata, nodes.String("annotations"))
		fallthrough
	default:
		made.Content = sortedByName(annotations)
	}
	return fn.MoveToKubeObject(yaml.NewRNode(root))
}

func sortedByName(fields []*yaml.Node) []*yaml.Node {
	pairs := slices.Collect(slices.Chunk(fields, 2))
	slices.SortStableFunc(pairs, func(a, b []*yaml.Node) int { return cmp.Compare(a[0].Value, b[0].Value) })
	return slices.Concat(pairs...)
}
