// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package fields visits the fields of resources, and puts comments on them.
package fields

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/origin"
)

// Visitor is told of the fields of a resource that has no aliases. Paths are like "spec.list[0].name". The lists of a
// mapping come before everything that is in it.
type Visitor struct {
	List   func(key, list *yaml.Node, path string) error // a list that is the value of a key; may be nil
	Scalar func(scalar *yaml.Node, path string) error
}

// Visit visits all fields of a resource, but for the annotations by which kpt remembers where it comes from. The error is
// that of List or Scalar, which ends the visit.
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

// BlockList puts a comment behind the key of a list, and the list into block style, as the comments of a list in flow
// style are not read as its own. An empty list has no block style: the comment is behind it.
func BlockList(key, list *yaml.Node, comment string) {
	key.LineComment, list.LineComment = comment, ""
	list.Style &^= yaml.FlowStyle
	if len(list.Content) == 0 {
		key.LineComment, list.LineComment = "", comment
		list.Style |= yaml.FlowStyle
	}
}

// BlockAround puts whatever encloses a list with a comment behind its key into block style. In flow style the comment would
// part the key from the list.
func BlockAround(node *yaml.Node) (found bool) {
	for i, value := range node.Content {
		key := value // what a comment of the value is to be at
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

// moveComment moves the comment that was behind a collection in flow style to where one in block style has it: behind its
// key, or else above.
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
