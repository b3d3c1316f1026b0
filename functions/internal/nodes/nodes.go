// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodes reads and edits the YAML nodes of resources as functions do: what is written keeps its place, its quotes
// and its comments, and a change of one field is never one of another that shares its value.
package nodes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// String makes a scalar that reads back as a string, whatever its text looks like, with YAML 1.1 readers too: those of
// Kubernetes take a plain "on" or "no" for a boolean.
func String(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: text}
	if !plainWord(text) && yaml.IsYaml1_1NonString(node) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// plainWord tells whether a text is plainly a string, without parsing it as YAML to see, which costs more than the rest of
// an edit. The constants of YAML begin with one of the letters that are left out here.
func plainWord(text string) bool {
	return text != "" && strings.Contains("abcdeghijklmpqrsuvwxz", text[:1]) && strings.Trim(text, wordCharacters) == ""
}

const wordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./"

// SetText gives a scalar another text, which reads back as a string. Quotes and comments stay.
func SetText(scalar *yaml.Node, text string) { setText(scalar, String(text)) }

func setText(scalar, made *yaml.Node) {
	scalar.Value, scalar.Tag = made.Value, made.Tag
	if scalar.Style == 0 {
		scalar.Style = made.Style
	}
}

// Entry is a field of a mapping of strings, as it is written.
type Entry struct{ Key, Value *yaml.Node }

// Entries are the fields of a map in the order in which they are set.
func Entries(all map[string]string) []Entry {
	entries := make([]Entry, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, Entry{String(key), String(all[key])})
	}
	return entries
}

// Set sets the field of a mapping below root. A value that is there keeps its place, its quotes and its comments, which
// may be a setter's. The entry is copied.
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

// SetString sets a field of a mapping below root to a string, as [Entry.Set] does.
func SetString(root, mapping *yaml.Node, name, text string) error {
	return Entry{String(name), String(text)}.Set(root, mapping)
}

// Mapping returns the mapping at a path of fields, and makes those that are missing or null.
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

// CheckMapping refuses a value that is to hold other fields and cannot. path is where it is.
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

// OneLine is an error's text without line breaks, which the errors of YAML parsers have.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Annotations returns the annotations of a resource, as names and values in turn.
func Annotations(root *yaml.Node) []*yaml.Node {
	annotations := yamlnode.Field(yamlnode.Field(root, "metadata"), "annotations")
	if yamlnode.IsNull(annotations) || annotations.Kind != yaml.MappingNode {
		return nil
	}
	return annotations.Content
}

// Annotation returns the text of an annotation, quoted or, as it should not be, not.
func Annotation(root *yaml.Node, name string) string {
	node := yamlnode.Field(yamlnode.Field(yamlnode.Field(root, "metadata"), "annotations"), name)
	if node == nil {
		return ""
	}
	return yamlnode.Resolve(node).Value
}
