// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/parallel"
	"github.com/krmfn/krmfn/services/render/yamlprint"
)

// printList prints a list as the SDK does, to the byte. Items that sort alike stay in their order.
func printList(rl *fn.ResourceList) ([]byte, error) {
	SortItems(rl.Items)
	if len(rl.Items) == 0 {
		return rl.ToYAML()
	}
	items := &yaml.Node{Kind: yaml.SequenceNode}
	for _, item := range rl.Items {
		items.Content = append(items.Content, NodeOf(item))
	}
	text, err := yamlprint.Print(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "items"}, items}}, yaml.CompactSequenceStyle)
	if err != nil {
		return nil, err
	}
	rest, err := (&fn.ResourceList{FunctionConfig: rl.FunctionConfig, Results: rl.Results}).ToYAML()
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(listHead), text, bytes.TrimPrefix(rest, []byte(listHead))), nil
}

const listHead = "apiVersion: " + kio.ResourceListAPIVersion + "\nkind: " + kio.ResourceListKind + "\n"

// SortItems sorts items as the SDK does when it prints them: by apiVersion, kind, namespace and name. The SDK's own sort joins
// the four for each comparison anew.
func SortItems(items fn.KubeObjects) {
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
