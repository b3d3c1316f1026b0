// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"github.com/qri-io/starlib/util"
	"go.starlark.net/starlark"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// listToStarlark makes the value of ctx.resource_list. It shares nothing with the list.
func listToStarlark(rl *fn.ResourceList) (*starlark.Dict, error) {
	items := make([]starlark.Value, 0, len(rl.Items))
	for _, item := range rl.Items {
		value, err := nodeToStarlark(function.NodeOf(item))
		if err != nil {
			return nil, err
		}
		items = append(items, value)
	}
	config, err := nodeToStarlark(function.NodeOf(rl.FunctionConfig))
	if err != nil {
		return nil, err
	}
	list := starlark.NewDict(4)
	for _, entry := range []struct {
		key   string
		value starlark.Value
	}{
		{"apiVersion", starlark.String(kio.ResourceListAPIVersion)},
		{"kind", starlark.String(kio.ResourceListKind)},
		{"items", starlark.NewList(items)},
		{"functionConfig", config},
	} {
		if err := list.SetKey(starlark.String(entry.key), entry.value); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// nodeToStarlark converts YAML. What looks like a date is a string to Kubernetes, so it is one here.
func nodeToStarlark(node *yaml.Node) (starlark.Value, error) {
	node = yamlnode.Copy(node)
	datesToStrings(node)
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, err
	}
	return toStarlark(value)
}

func datesToStrings(node *yaml.Node) {
	if node.Tag == "!!timestamp" {
		node.Tag = yaml.NodeTagString
	}
	for _, value := range node.Content {
		datesToStrings(value)
	}
}

// toStarlark converts what a YAML decoder makes. The keys of a dict are sorted, so that every run sees the same order.
func toStarlark(value any) (starlark.Value, error) {
	switch value := value.(type) {
	case []any:
		elements := make([]starlark.Value, 0, len(value))
		for _, element := range value {
			converted, err := toStarlark(element)
			if err != nil {
				return nil, err
			}
			elements = append(elements, converted)
		}
		return starlark.NewList(elements), nil
	case map[string]any:
		return toDict(value)
	case map[any]any:
		return toDict(value)
	default:
		return util.Marshal(value)
	}
}

func toDict[K comparable](values map[K]any) (starlark.Value, error) {
	keys := slices.SortedFunc(maps.Keys(values), func(a, b K) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	dict := starlark.NewDict(len(keys))
	for _, key := range keys {
		name, err := toStarlark(any(key))
		if err != nil {
			return nil, err
		}
		value, err := toStarlark(values[key])
		if err != nil {
			return nil, err
		}
		if err := dict.SetKey(name, value); err != nil {
			return nil, err
		}
	}
	return dict, nil
}
