// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/comments"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// copyComments has the same result as comments.CopyComments. That function looks up the merge keys of lists in the OpenAPI
// schema of Kubernetes; loading the schema takes longer than a small render and 30 MB of memory. copyComments calls it only if
// merge keys can affect the result.
func copyComments(from, to *yaml.RNode) error {
	if yamlnode.Contains(from.Document(), hasSchema) || yamlnode.Contains(to.Document(), hasSchema) || !aligned(from.YNode(), to.YNode()) {
		return comments.CopyComments(from, to)
	}
	copyNodeComments(from.Document(), to.Document())
	copyAligned(from.YNode(), to.YNode())
	return nil
}

// mergeKeys lists every merge key in the OpenAPI schema of Kubernetes.
var mergeKeys = []string{
	"containerPort", "devicePath", "ip", "key", "mountPath", "name", "port", "protocol", "topologyKey", "type", "uid", "whenUnsatisfiable",
}

// aligned reports whether merge keys make no difference for copying comments between two nodes: list elements with the same
// merge keys have the same index, or the list has no comments.
func aligned(from, to *yaml.Node) bool {
	if from.Kind != to.Kind || from.Kind == yaml.AliasNode || yamlnode.IsNull(from) != yamlnode.IsNull(to) {
		return false
	}
	switch from.Kind {
	case yaml.MappingNode:
		return uniqueKeys(to) && uniqueKeys(from) && everyField(from, to, func(_, _, before, after *yaml.Node) bool { return aligned(before, after) })
	case yaml.SequenceNode:
		for i, n := range from.Content[:min(len(from.Content), len(to.Content))] {
			if n.Value == to.Content[i].Value && !aligned(n, to.Content[i]) {
				return false
			}
		}
		return !yamlnode.Contains(from, commented) && !yamlnode.Contains(to, folded) || slices.EqualFunc(from.Content, to.Content, sameMergeKeys)
	default:
		return true
	}
}

// sameMergeKeys reports whether two list elements agree on all possible merge keys. The merge key of a scalar is its value.
func sameMergeKeys(from, to *yaml.Node) bool {
	switch {
	case from.Kind == yaml.ScalarNode && to.Kind == yaml.ScalarNode:
		return from.Value == to.Value
	case from.Kind != yaml.MappingNode || to.Kind != yaml.MappingNode:
		return false
	}
	return !slices.ContainsFunc(mergeKeys, func(key string) bool {
		before, after := yamlnode.Field(from, key), yamlnode.Field(to, key)
		if before == nil || after == nil {
			return before != after
		}
		return before.Kind != yaml.ScalarNode || after.Kind != yaml.ScalarNode || before.Value != after.Value
	})
}

// copyAligned copies comments between aligned nodes. Like CopyComments, it quotes folded scalars.
func copyAligned(from, to *yaml.Node) {
	copyNodeComments(from, to)
	switch to.Kind {
	case yaml.MappingNode:
		for i := 1; i < len(to.Content); i += 2 {
			quoteFolded(to.Content[i])
		}
		everyField(from, to, func(keyBefore, keyAfter, before, after *yaml.Node) bool {
			copyNodeComments(keyBefore, keyAfter)
			copyAligned(before, after)
			return true
		})
	case yaml.SequenceNode:
		for i, n := range from.Content[:min(len(from.Content), len(to.Content))] {
			if n.Value == to.Content[i].Value {
				copyAligned(n, to.Content[i])
			}
		}
	default:
		quoteFolded(to)
	}
}

// everyField calls f for each field that both mappings have until f returns false. It reports whether f always returned true.
func everyField(from, to *yaml.Node, f func(keyBefore, keyAfter, before, after *yaml.Node) bool) bool {
	for i := 0; i+1 < len(from.Content); i += 2 {
		at := yamlnode.Position(to, from.Content[i].Value)
		if at >= 0 && !f(from.Content[i], to.Content[at], from.Content[i+1], to.Content[at+1]) {
			return false
		}
	}
	return true
}

func uniqueKeys(mapping *yaml.Node) bool {
	for i := 0; i < len(mapping.Content); i += 2 {
		if yamlnode.Position(mapping, mapping.Content[i].Value) != i {
			return false
		}
	}
	return true
}

// copyNodeComments copies the comments of a single node. It does not overwrite comments.
func copyNodeComments(from, to *yaml.Node) {
	for _, c := range []struct {
		from string
		to   *string
	}{{from.LineComment, &to.LineComment}, {from.HeadComment, &to.HeadComment}, {from.FootComment, &to.FootComment}} {
		if *c.to == "" {
			*c.to = c.from
		}
	}
}

func quoteFolded(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style == yaml.FoldedStyle {
		n.Style = yaml.DoubleQuotedStyle
	}
}

// hasSchema reports whether a comment of n may be a field schema, which is a JSON object.
func hasSchema(n *yaml.Node) bool {
	isObject := func(comment string) bool {
		return strings.HasPrefix(strings.TrimSpace(strings.TrimLeft(comment, "#")), "{")
	}
	return isObject(n.LineComment) || isObject(n.HeadComment)
}
