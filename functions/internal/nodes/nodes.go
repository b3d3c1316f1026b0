// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodes reads and edits YAML nodes as functions do: values keep their position, quotes and comments, and changing one
// field never changes another one that shares its value.
package nodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// String returns a scalar that every reader parses as a string. Kubernetes uses YAML 1.1, where a plain "on" or "no" is a
// boolean.
func String(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: text}
	if !plainWord(text) && yaml.IsYaml1_1NonString(node) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// plainWord reports whether a text is certainly a string. Parsing it as YAML would cost more than the rest of an edit. YAML's
// constants begin with one of the letters that are missing here.
func plainWord(text string) bool {
	return text != "" && strings.Contains("abcdeghijklmpqrsuvwxz", text[:1]) && strings.Trim(text, wordCharacters) == ""
}

const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./"

// SetText sets the text of a scalar, which is then a string. It keeps quotes and comments.
func SetText(scalar *yaml.Node, text string) { setText(scalar, String(text)) }

func setText(scalar, made *yaml.Node) {
	scalar.Value, scalar.Tag = made.Value, made.Tag
	if scalar.Style == 0 {
		scalar.Style = made.Style
	}
}

// Entry is a field of a string mapping, as nodes.
type Entry struct{ Key, Value *yaml.Node }

// Entries returns the entries of a map, sorted by key.
func Entries(all map[string]string) []Entry {
	entries := make([]Entry, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, Entry{String(key), String(all[key])})
	}
	return entries
}

// Set sets a field of a mapping below root. An existing value keeps its position, quotes and comments, which may be a setter's
// comment. The mapping gets a copy of the entry.
func (e Entry) Set(root, mapping *yaml.Node) error {
	value, err := OwnField(root, mapping, e.Key.Value)
	if err != nil {
		return err
	}
	made := *e.Value
	switch {
	case value == nil:
		key := *e.Key
		mapping.Content = append(mapping.Content, &key, &made)
	case value.Kind != yaml.ScalarNode:
		*value = made
	default:
		setText(value, &made)
	}
	return nil
}

// SetString sets a field of a mapping below root to a string, like [Entry.Set].
func SetString(root, mapping *yaml.Node, name, text string) error {
	return Entry{String(name), String(text)}.Set(root, mapping)
}

// Mapping returns the mapping at a path of fields. It creates missing and null mappings.
func Mapping(root *yaml.Node, path ...string) (*yaml.Node, error) {
	mapping := root
	for i, name := range path {
		value := yamlnode.Field(mapping, name)
		if yamlnode.IsNull(value) {
			value = yamlnode.MakeMapping(mapping, String(name))
		}
		if err := CheckMapping(value, path[:i+1]...); err != nil {
			return nil, err
		}
		mapping = value
	}
	return mapping, nil
}

// CheckMapping returns an error unless value is a mapping. path is for the error message.
func CheckMapping(value *yaml.Node, path ...string) error {
	kind := "ScalarNode"
	switch value.Kind {
	case yaml.MappingNode:
		return nil
	case yaml.SequenceNode:
		kind = "SequenceNode"
	}
	text, err := yaml.NewRNode(value).String()
	if err != nil {
		return err
	}
	return fmt.Errorf("wrong Node Kind for %s expected: MappingNode was %s: value: {%s}",
		strings.Join(path, "."), kind, strings.TrimSpace(text))
}

// OneLine returns an error's text without line breaks, which errors of YAML parsers may have.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Annotations returns the annotations of a resource as alternating names and values.
func Annotations(root *yaml.Node) []*yaml.Node {
	annotations := yamlnode.Field(yamlnode.Field(root, "metadata"), "annotations")
	if yamlnode.IsNull(annotations) || annotations.Kind != yaml.MappingNode {
		return nil
	}
	return annotations.Content
}

// Annotation returns the text of an annotation, even if it is unquoted and not a string.
func Annotation(root *yaml.Node, name string) string {
	node := yamlnode.Field(yamlnode.Field(yamlnode.Field(root, "metadata"), "annotations"), name)
	if node == nil {
		return ""
	}
	return yamlnode.Resolve(node).Value
}
