// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resourcelist

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/krmfn/krmfn/internal/yamlnode"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// readResults reads results in the form of the specification or in an older form: a mapping with the list in items, a resourceRef with
// the names in metadata, and a field with suggestedValue.
func readResults(list *yaml.Node) ([]*evaluationv1.Result, error) {
	if list != nil && list.Kind == yaml.MappingNode {
		list = yamlnode.Lookup(list, "items")
	}
	if yamlnode.IsNull(list) {
		return nil, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, errors.New("the output's results are not a list")
	}
	results := make([]*evaluationv1.Result, 0, len(list.Content))
	for i, item := range list.Content {
		item = yamlnode.Resolve(item)
		if item.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("result %d of the output is not a mapping", i)
		}
		results = append(results, &evaluationv1.Result{
			Message:     text(yamlnode.Lookup(item, "message")),
			Severity:    text(yamlnode.Lookup(item, "severity")),
			ResourceRef: readRef(yamlnode.Lookup(item, "resourceRef")),
			Field:       readField(yamlnode.Lookup(item, "field")),
			File:        readFile(yamlnode.Lookup(item, "file")),
			Tags:        readTags(yamlnode.Lookup(item, "tags")),
		})
	}
	return results, nil
}

func readRef(n *yaml.Node) *evaluationv1.ResourceRef {
	if yamlnode.IsNull(n) {
		return nil
	}
	metadata := yamlnode.Lookup(n, "metadata")
	return &evaluationv1.ResourceRef{
		ApiVersion: text(yamlnode.Lookup(n, "apiVersion")),
		Kind:       text(yamlnode.Lookup(n, "kind")),
		Name:       cmp.Or(text(yamlnode.Lookup(n, "name")), text(yamlnode.Lookup(metadata, "name"))),
		Namespace:  cmp.Or(text(yamlnode.Lookup(n, "namespace")), text(yamlnode.Lookup(metadata, "namespace"))),
	}
}

func readField(n *yaml.Node) *evaluationv1.Field {
	if yamlnode.IsNull(n) {
		return nil
	}
	return &evaluationv1.Field{
		Path:          text(yamlnode.Lookup(n, "path")),
		CurrentValue:  text(yamlnode.Lookup(n, "currentValue")),
		ProposedValue: cmp.Or(text(yamlnode.Lookup(n, "proposedValue")), text(yamlnode.Lookup(n, "suggestedValue"))),
	}
}

func readFile(n *yaml.Node) *evaluationv1.File {
	if yamlnode.IsNull(n) {
		return nil
	}
	index, err := strconv.ParseInt(text(yamlnode.Lookup(n, "index")), 10, 32)
	if err != nil {
		index = 0
	}
	return &evaluationv1.File{Path: text(yamlnode.Lookup(n, "path")), Index: int32(index)}
}

func readTags(n *yaml.Node) map[string]string {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	tags := make(map[string]string, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		tags[n.Content[i].Value] = text(yamlnode.Resolve(n.Content[i+1]))
	}
	return tags
}

// text returns a scalar without surrounding space, or a sequence or mapping as one line of YAML.
func text(n *yaml.Node) string {
	switch {
	case yamlnode.IsNull(n):
		return ""
	case n.Kind == yaml.ScalarNode:
		return strings.ToValidUTF8(strings.TrimSpace(n.Value), "\uFFFD")
	}
	flow := *n
	flow.Style = yaml.FlowStyle
	out, err := yaml.Marshal(&flow)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
