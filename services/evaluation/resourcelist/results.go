// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resourcelist

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// readResults reads a list of results, in the specification's shape or one of the older ones: a mapping with the list in
// items, a resourceRef that has its names below metadata, a field with a suggestedValue.
func readResults(list *yaml.Node) ([]*evaluationv1.Result, error) {
	if list != nil && list.Kind == yaml.MappingNode {
		list = field(list, "items")
	}
	if isNull(list) {
		return nil, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, errors.New("the output's results are not a list")
	}
	results := make([]*evaluationv1.Result, 0, len(list.Content))
	for i, item := range list.Content {
		item = resolve(item)
		if item.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("result %d of the output is not a mapping", i)
		}
		results = append(results, &evaluationv1.Result{
			Message:     text(field(item, "message")),
			Severity:    text(field(item, "severity")),
			ResourceRef: readRef(field(item, "resourceRef")),
			Field:       readField(field(item, "field")),
			File:        readFile(field(item, "file")),
			Tags:        readTags(field(item, "tags")),
		})
	}
	return results, nil
}

func readRef(n *yaml.Node) *evaluationv1.ResourceRef {
	if isNull(n) {
		return nil
	}
	metadata := field(n, "metadata")
	return &evaluationv1.ResourceRef{
		ApiVersion: text(field(n, "apiVersion")),
		Kind:       text(field(n, "kind")),
		Name:       first(text(field(n, "name")), text(field(metadata, "name"))),
		Namespace:  first(text(field(n, "namespace")), text(field(metadata, "namespace"))),
	}
}

func readField(n *yaml.Node) *evaluationv1.Field {
	if isNull(n) {
		return nil
	}
	return &evaluationv1.Field{
		Path:          text(field(n, "path")),
		CurrentValue:  text(field(n, "currentValue")),
		ProposedValue: first(text(field(n, "proposedValue")), text(field(n, "suggestedValue"))),
	}
}

func readFile(n *yaml.Node) *evaluationv1.File {
	if isNull(n) {
		return nil
	}
	index, err := strconv.ParseInt(text(field(n, "index")), 10, 32)
	if err != nil {
		index = 0
	}
	return &evaluationv1.File{Path: text(field(n, "path")), Index: int32(index)}
}

func readTags(n *yaml.Node) map[string]string {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	tags := make(map[string]string, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		tags[n.Content[i].Value] = text(resolve(n.Content[i+1]))
	}
	return tags
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// text returns a node as text: a scalar as it stands, without the space around it; a list or mapping as YAML in one line.
func text(n *yaml.Node) string {
	switch {
	case isNull(n):
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
