// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package fields visits the fields of resources and sets comments on them.
package fields

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/origin"
)

// Visitor has callbacks for the fields of a resource without aliases. Paths have the form "spec.list[0].name". For a mapping,
// List is called for all its lists before the callbacks for nested fields.
type Visitor struct {
	List   func(key, list *yaml.Node, path string) error // a list that is the value of a key; may be nil
	Scalar func(scalar *yaml.Node, path string) error
}

// Visit visits all fields of a resource except kpt's origin annotations. It stops at the first error of List or Scalar and
// returns it.
func (v Visitor) Visit(root *yaml.Node) error { return v.visitNode(root, "") }

func (v Visitor) visitNode(node *yaml.Node, path string) error {
	switch node.Kind {
	case yaml.MappingNode:
		return v.visitMapping(node, path)
	case yaml.SequenceNode:
		for i, element := range node.Content {
			if err := v.visitNode(element, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case yaml.ScalarNode:
		return v.Scalar(node, path)
	}
	return nil
}

func (v Visitor) visitMapping(mapping *yaml.Node, path string) error {
	for i := 0; i+1 < len(mapping.Content) && v.List != nil; i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if value.Kind != yaml.SequenceNode {
			continue
		}
		if err := v.List(key, value, below(path, key)); err != nil {
			return err
		}
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if path == "metadata.annotations" && origin.IsBookkeeping(key.Value) {
			continue
		}
		if err := v.visitNode(value, below(path, key)); err != nil {
			return err
		}
	}
	return nil
}

func below(path string, key *yaml.Node) string { return strings.TrimPrefix(path+"."+key.Value, ".") }

// BlockList puts a comment after the key of a list and changes the list to block style, because the comments of a flow list are
// not parsed as the list's. An empty list has no block style; its comment comes after the list.
func BlockList(key, list *yaml.Node, comment string) {
	key.LineComment, list.LineComment = comment, ""
	list.Style &^= yaml.FlowStyle
	if len(list.Content) == 0 {
		key.LineComment, list.LineComment = "", comment
		list.Style |= yaml.FlowStyle
	}
}

// BlockAround changes all collections around a list with a comment after its key to block style. In flow style, the comment
// would separate the key from the list.
func BlockAround(node *yaml.Node) (found bool) {
	for i, value := range node.Content {
		key := value // the node that gets the comment of value
		if node.Kind == yaml.MappingNode && i%2 == 1 {
			key = node.Content[i-1]
			found = found || value.Kind == yaml.SequenceNode && key.LineComment != "" && value.Style&yaml.FlowStyle == 0
		}
		if BlockAround(value) {
			found = true
			moveComment(value, key)
		}
	}
	if found {
		node.Style &^= yaml.FlowStyle
	}
	return found
}

// moveComment moves the line comment of a former flow collection to where a block collection has it: after its key, or else
// above it.
func moveComment(value, key *yaml.Node) {
	comment := value.LineComment
	value.LineComment = ""
	switch {
	case comment == "":
	case key != value && key.LineComment == "":
		key.LineComment = comment
	default:
		key.HeadComment = strings.TrimSpace(comment + "\n" + key.HeadComment)
	}
}
