// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// nodeOf returns the YAML mapping of a resource: the one that is printed, not a copy.
func nodeOf(item *fn.KubeObject) *yaml.Node {
	rn := item.MoveToResourceNode()
	node := rn.YNode()
	*item = *fn.MoveToKubeObject(rn)
	return node
}

// field returns the value of a field of a mapping as it is written, possibly an alias, or nil.
func field(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name && mapping.Content[i].Kind == yaml.ScalarNode {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// isNull reports whether a value is absent for an API server: not there, or null.
func isNull(node *yaml.Node) bool {
	return node == nil || node.Kind == yaml.ScalarNode && node.Tag == yaml.NodeTagNull
}

// stringNode makes a scalar that reads back as a string, whatever its text looks like, with YAML 1.1 readers too: those
// of Kubernetes take a plain "on" or "no" for a boolean.
func stringNode(text string) *yaml.Node {
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

// entry is a field of a mapping of strings, as it is written.
type entry struct{ key, value *yaml.Node }

// entriesOf are the fields of a map in the order in which they are set.
func entriesOf(all map[string]string) []entry {
	entries := make([]entry, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, entry{stringNode(key), stringNode(all[key])})
	}
	return entries
}

// setString sets a field of a mapping below root to a string. A value that is there keeps its place, its quotes and its
// comments, which may be a setter's. name and text are copied; they come from stringNode.
func setString(root, mapping, name, text *yaml.Node) error {
	value, err := ownField(root, mapping, name.Value)
	if err != nil {
		return err
	}
	made := *text
	switch {
	case value == nil:
		key := *name
		mapping.Content = append(mapping.Content, &key, &made)
	case value.Kind != yaml.ScalarNode:
		*value = made
	default:
		value.Value, value.Tag = made.Value, made.Tag
		if value.Style == 0 {
			value.Style = made.Style
		}
	}
	return nil
}

// dataOf returns the data of a ConfigMap. Numbers and booleans, which should be quoted there, are taken as their text.
func dataOf(config *fn.KubeObject) (map[string]string, error) {
	data := field(nodeOf(config), "data")
	if isNull(data) {
		return nil, nil
	}
	if data.Kind != yaml.MappingNode {
		return nil, errors.New("data of the functionConfig is not a map")
	}
	texts := make(map[string]string, len(data.Content)/2)
	for i := 0; i+1 < len(data.Content); i += 2 {
		key, value := data.Content[i], data.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		switch {
		case isNull(value):
			texts[key.Value] = ""
		case value.Kind == yaml.ScalarNode:
			texts[key.Value] = value.Value
		default:
			return nil, fmt.Errorf("data.%s of the functionConfig is not a string", key.Value)
		}
	}
	return texts, nil
}

// sourceFile returns where a resource was read from, by kpt's annotations or by those that went before them. It is empty
// when nothing is known.
func sourceFile(item *fn.KubeObject) fn.File {
	path := cmp.Or(item.PathAnnotation(), item.GetAnnotation("config.kubernetes.io/path"))
	index, _ := strconv.Atoi(cmp.Or(item.GetAnnotation(fn.IndexAnnotation), item.GetAnnotation("config.kubernetes.io/index")))
	return fn.File{Path: path, Index: index}
}

// annotationsOf returns the annotations of a resource, as names and values in turn.
func annotationsOf(root *yaml.Node) []*yaml.Node {
	metadata := field(root, "metadata")
	if isNull(metadata) {
		return nil
	}
	annotations := field(metadata, "annotations")
	if isNull(annotations) || annotations.Kind != yaml.MappingNode {
		return nil
	}
	return annotations.Content
}

// removeField removes a field of a mapping, if it is there.
func removeField(mapping *yaml.Node, name string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}

// oneLine is an error's text without line breaks, which the errors of YAML parsers have.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
