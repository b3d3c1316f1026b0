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
)

// printedTogether is how many items the SDK is given to print at once. The YAML encoder keeps every event of what it
// prints, which for thousands of items is half a gigabyte, and most of the time.
const printedTogether = 50

const (
	listHead  = "apiVersion: " + kio.ResourceListAPIVersion + "\nkind: " + kio.ResourceListKind + "\n"
	itemsHead = listHead + "items:\n"
)

// printList prints a list as the SDK does, to the byte. Items that sort alike stay in their order.
func printList(rl *fn.ResourceList) ([]byte, error) {
	SortItems(rl.Items)
	// A comment at the foot of an item is printed before what follows it, so that must not be cut off.
	if len(rl.Items) <= printedTogether || slices.ContainsFunc(rl.Items, hasFootComment) {
		return rl.ToYAML()
	}
	var out bytes.Buffer
	out.WriteString(itemsHead)
	for items := range slices.Chunk(rl.Items, printedTogether) {
		part := fn.ResourceList{Items: items}
		text, err := part.ToYAML()
		if err != nil {
			return nil, err
		}
		out.Write(bytes.TrimPrefix(text, []byte(itemsHead)))
	}
	rest := fn.ResourceList{FunctionConfig: rl.FunctionConfig, Results: rl.Results}
	text, err := rest.ToYAML()
	if err != nil {
		return nil, err
	}
	out.Write(bytes.TrimPrefix(text, []byte(listHead)))
	return out.Bytes(), nil
}

func hasFootComment(item *fn.KubeObject) bool { return footComment(NodeOf(item)) }

func footComment(node *yaml.Node) bool {
	return node.FootComment != "" || slices.ContainsFunc(node.Content, footComment)
}

// SortItems sorts items as the SDK does when it prints them: by apiVersion, kind, namespace and name. The SDK's own sort joins
// the four for each comparison anew.
func SortItems(items fn.KubeObjects) {
	type keyed struct {
		key  string
		item *fn.KubeObject
	}
	all := make([]keyed, len(items))
	for i, item := range items {
		key := strings.Join([]string{item.GetAPIVersion(), item.GetKind(), item.GetNamespace(), item.GetName()}, " ")
		all[i] = keyed{key, item}
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	for i, k := range all {
		items[i] = k.item
	}
}
