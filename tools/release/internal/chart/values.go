// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// stampValues writes tags into image.tags, which must be there and empty: {}. All else stays as people wrote it.
func stampValues(data []byte, tags map[string]string) ([]byte, error) {
	if len(tags) == 0 {
		return data, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, errors.New("empty")
	}
	node := child(child(doc.Content[0], "image"), "tags")
	if node == nil {
		return nil, fmt.Errorf("there is no image.tags, which is for images of another version than the chart's: %s", flow(tags))
	}
	lines := strings.SplitAfter(string(data), "\n")
	line := lines[node.Line-1]
	before, after := line[:node.Column-1], line[node.Column-1:]
	if !strings.HasPrefix(after, "{}") {
		return nil, fmt.Errorf("line %d: image.tags is not {}: versions belong into versions.yaml", node.Line)
	}
	lines[node.Line-1] = before + flow(tags) + strings.TrimPrefix(after, "{}")
	return []byte(strings.Join(lines, "")), nil
}

// child is the value of a key, or nil.
func child(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

func flow(tags map[string]string) string {
	entries := make([]string, 0, len(tags))
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		entries = append(entries, name+": "+tags[name])
	}
	return "{" + strings.Join(entries, ", ") + "}"
}
