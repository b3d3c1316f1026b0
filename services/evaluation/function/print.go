// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/parallel"
	"github.com/krmfn/krmfn/internal/yamlprint"
)

// printList prints a list exactly like the SDK, except that the sort is stable and that f.KeepsList has an effect. apiVersion is the
// apiVersion of the list; empty means the SDK's.
func (f Function) printList(rl *fn.ResourceList, apiVersion string) ([]byte, error) {
	f.Arrange(rl.Items)
	text := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s} }
	list := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		text("apiVersion"), text(cmp.Or(apiVersion, kio.ResourceListAPIVersion)), text("kind"), text(kio.ResourceListKind),
	}}
	if len(rl.Items) > 0 || f.KeepsList {
		items := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range rl.Items {
			items.Content = append(items.Content, NodeOf(item))
		}
		list.Content = append(list.Content, text("items"), items)
	}
	printed, err := yamlprint.Print(list, yaml.CompactSequenceStyle)
	if err != nil {
		return nil, err
	}
	rest, err := (&fn.ResourceList{FunctionConfig: rl.FunctionConfig, Results: rl.Results}).ToYAML()
	if err != nil {
		return nil, err
	}
	return append(printed, bytes.TrimPrefix(rest, []byte(listHead))...), nil
}

// listHead is the beginning of a list that the SDK prints.
const listHead = "apiVersion: " + kio.ResourceListAPIVersion + "\nkind: " + kio.ResourceListKind + "\n"

// Arrange sorts items into the order in which f prints them.
func (f Function) Arrange(items fn.KubeObjects) {
	if !f.KeepsList {
		sortItems(items)
	}
}

// sortItems sorts items by apiVersion, kind, namespace and name, like the SDK. Unlike the SDK, it computes each sort key once instead
// of for each comparison.
func sortItems(items fn.KubeObjects) {
	type keyed struct {
		key  string
		item *fn.KubeObject
	}
	all := make([]keyed, len(items))
	_ = parallel.Each(len(items), func(i int) error {
		item := items[i]
		all[i] = keyed{strings.Join([]string{item.GetAPIVersion(), item.GetKind(), item.GetNamespace(), item.GetName()}, " "), item}
		return nil
	})
	slices.SortStableFunc(all, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	for i, k := range all {
		items[i] = k.item
	}
}
