// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package yamlnode looks at YAML nodes and edits them: fields of mappings, nulls, aliases, copies. It links the YAML
// library alone, and its functions take nil for a node that does not exist.
package yamlnode

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// Field returns the value of a mapping's field as it is written, possibly an alias. It returns nil if the node is not a
// mapping, or has no such field.
func Field(mapping *yaml.Node, key string) *yaml.Node {
	if at := Position(mapping, key); at >= 0 {
		return mapping.Content[at+1]
	}
	return nil
}

// Lookup returns the value at a path of fields, or nil. It enters documents and follows aliases, also that of the result.
func Lookup(n *yaml.Node, path ...string) *yaml.Node {
	n = Resolve(n)
	for _, key := range path {
		n = Resolve(Field(n, key))
	}
	return n
}

// Position returns the index of a key in a mapping's Content, where the value follows it; -1 if the node is not a mapping,
// or has no such field.
func Position(mapping *yaml.Node, key string) int {
	if mapping != nil && mapping.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			if k := mapping.Content[i]; k.Value == key && k.Kind == yaml.ScalarNode {
				return i
			}
		}
	}
	return -1
}

// Resolve returns what an alias stands for, or a document holds; any other node as it is.
func Resolve(n *yaml.Node) *yaml.Node {
	for n != nil {
		switch {
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case n.Kind == yaml.DocumentNode && len(n.Content) > 0:
			n = n.Content[0]
		default:
			return n
		}
	}
	return nil
}

// IsNull reports whether a value is absent: nil, empty or null. An alias of null is not.
func IsNull(n *yaml.Node) bool {
	return n == nil || n.Kind == 0 || (n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null")
}

// String returns a scalar that is a string, in a style.
func String(value string, style yaml.Style) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: style}
}

// Text returns the text of a scalar; "" for null and for any other node.
func Text(n *yaml.Node) string {
	if IsNull(n) || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// Contains reports whether a node, or one below it, has a property. It does not follow aliases.
func Contains(n *yaml.Node, property func(*yaml.Node) bool) bool {
	if n == nil || property(n) {
		return n != nil
	}
	// As a loop, because renders spend a tenth of their time here.
	for _, c := range n.Content {
		if Contains(c, property) {
			return true
		}
	}
	return false
}

// MakeMapping puts an empty mapping into a mapping's field that is missing or null, and returns it. It has the parent's
// style. The comment of a null moves behind the key in block style: behind the new mapping, it would be printed with
// whatever follows.
func MakeMapping(parent, key *yaml.Node) *yaml.Node {
	made := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: parent.Style & yaml.FlowStyle}
	at := Position(parent, key.Value)
	if at < 0 {
		parent.Content = append(parent.Content, key, made)
		return made
	}
	key, null := parent.Content[at], parent.Content[at+1]
	if made.Style != 0 {
		made.LineComment = null.LineComment
	} else if key.LineComment == "" {
		key.LineComment = null.LineComment
	}
	parent.Content[at+1] = made
	return made
}

// Remove removes fields from a mapping, where they exist.
func Remove(mapping *yaml.Node, keys ...string) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return
	}
	kept := mapping.Content[:0]
	for i := 0; i < len(mapping.Content); i += 2 {
		if k := mapping.Content[i]; i+1 < len(mapping.Content) && k.Kind == yaml.ScalarNode && slices.Contains(keys, k.Value) {
			continue
		}
		kept = append(kept, mapping.Content[i:min(i+2, len(mapping.Content))]...)
	}
	clear(mapping.Content[len(kept):])
	mapping.Content = kept
}
