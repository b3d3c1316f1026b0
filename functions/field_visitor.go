// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// fieldVisitor is told of the fields of a resource that has no aliases. Paths are like "spec.list[0].name". The lists of a
// mapping come before everything that is in it.
type fieldVisitor struct {
	list   func(key, list *yaml.Node, path string) error // a list that is the value of a key; may be nil
	scalar func(scalar *yaml.Node, path string) error
}

func (v fieldVisitor) visit(root *yaml.Node) error { return v.visitNode(root, "") }

func (v fieldVisitor) visitNode(node *yaml.Node, path string) error {
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
		return v.scalar(node, path)
	}
	return nil
}

func (v fieldVisitor) visitMapping(mapping *yaml.Node, path string) error {
	for i := 0; i+1 < len(mapping.Content) && v.list != nil; i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if value.Kind != yaml.SequenceNode {
			continue
		}
		if err := v.list(key, value, below(path, key)); err != nil {
			return err
		}
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if path == "metadata.annotations" && isBookkeeping(key.Value) {
			continue
		}
		if err := v.visitNode(value, below(path, key)); err != nil {
			return err
		}
	}
	return nil
}

func below(path string, key *yaml.Node) string { return strings.TrimPrefix(path+"."+key.Value, ".") }

// makeMapping puts an empty mapping into a field that is missing, or null. A comment on the null goes behind the key, as one
// behind a mapping in block style would be printed with whatever follows.
func makeMapping(parent *yaml.Node, name string) *yaml.Node {
	made := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap, Style: parent.Style & yaml.FlowStyle}
	for i := 0; i+1 < len(parent.Content); i += 2 {
		key, null := parent.Content[i], parent.Content[i+1]
		if key.Value != name || key.Kind != yaml.ScalarNode {
			continue
		}
		if made.Style == 0 {
			key.LineComment = cmp.Or(key.LineComment, null.LineComment)
		} else {
			made.LineComment = null.LineComment
		}
		parent.Content[i+1] = made
		return made
	}
	parent.Content = append(parent.Content, stringNode(name), made)
	return made
}

// notAMapping is the error about a field that is to hold other fields and cannot.
func notAMapping(value *yaml.Node, path string) error {
	kind := "ScalarNode"
	if value.Kind == yaml.SequenceNode {
		kind = "SequenceNode"
	}
	text, err := yaml.NewRNode(value).String()
	if err != nil {
		return err
	}
	return fmt.Errorf("wrong Node Kind for %s expected: MappingNode was %s: value: {%s}", path, kind, strings.TrimSpace(text))
}

// isBookkeeping reports whether an annotation is one by which kpt remembers where a resource comes from and goes to. It is
// not the user's: who replaces "0" by "1" does not mean the index of every resource in its file.
func isBookkeeping(annotation string) bool {
	return strings.HasPrefix(annotation, "internal.config.kubernetes.io/") ||
		slices.Contains([]string{
			"config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id",
			"internal.kpt.dev/upstream-identifier",
		}, annotation)
}

// blockList puts a comment behind the key of a list, and the list into block style, as the comments of a list in flow
// style are not read as its own. An empty list has no block style: the comment is behind it.
func blockList(key, list *yaml.Node, comment string) {
	key.LineComment, list.LineComment = comment, ""
	list.Style &^= yaml.FlowStyle
	if len(list.Content) == 0 {
		key.LineComment, list.LineComment = "", comment
		list.Style |= yaml.FlowStyle
	}
}

// blockAround puts whatever encloses a list with a comment behind its key into block style. In flow style the comment would
// part the key from the list.
func blockAround(node *yaml.Node) (found bool) {
	for i, value := range node.Content {
		key := value // what a comment of the value is to be at
		if node.Kind == yaml.MappingNode && i%2 == 1 {
			key = node.Content[i-1]
			found = found || value.Kind == yaml.SequenceNode && key.LineComment != "" && value.Style&yaml.FlowStyle == 0
		}
		if blockAround(value) {
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
