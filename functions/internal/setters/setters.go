// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package setters parses the comments that mark the fields of setters.
package setters

import (
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Comment is the prefix of a comment that names the setters of a value, as in "# kpt-set: ${image}:${tag}".
const Comment = "kpt-set: "

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// Pattern returns the setter pattern in a line comment, or "".
func Pattern(comment string) string {
	pattern, ok := strings.CutPrefix(comment, "# "+Comment)
	if !ok {
		return ""
	}
	return strings.TrimSpace(pattern)
}

// ListComment returns the comment with a list's setter: after the key for a block list, after the list for a flow list.
func ListComment(key, list *yaml.Node) string {
	if list.Style&yaml.FlowStyle != 0 {
		return list.LineComment
	}
	return key.LineComment
}

// OfList returns the setter if the pattern consists of a single setter, as it must for a list, or else "".
func OfList(pattern string) string {
	match := reference.FindStringSubmatch(pattern)
	if match == nil || match[0] != pattern {
		return ""
	}
	return match[1]
}

// Values extracts the values of a pattern's setters from a text. It returns nil unless every setter has a value.
func Values(pattern, text string) map[string]string {
	names := reference.FindAllStringSubmatch(pattern, -1)
	fixed := reference.Split(pattern, -1)
	for i, part := range fixed {
		fixed[i] = regexp.QuoteMeta(part)
	}
	find, err := regexp.Compile(strings.Join(fixed, "(.*)"))
	if err != nil {
		return nil
	}
	found := find.FindStringSubmatch(text)
	if found == nil || slices.Contains(found[1:], "") {
		return nil
	}
	values := make(map[string]string, len(names))
	for i, name := range names {
		values[strings.TrimSpace(name[1])] = found[i+1]
	}
	return values
}

// SortedTexts returns the sorted texts of a list of scalars. ok is false if an element is not a scalar.
func SortedTexts(list *yaml.Node) ([]string, bool) {
	texts := make([]string, 0, len(list.Content))
	for _, element := range list.Content {
		if element.Kind != yaml.ScalarNode {
			return nil, false
		}
		texts = append(texts, element.Value)
	}
	slices.Sort(texts)
	return texts, true
}

// ParseList parses a YAML list of scalars and returns the sorted texts. ok is false if text is not such a list.
func ParseList(text string) ([]string, bool) {
	parsed, err := yaml.Parse(text)
	if err != nil || parsed.YNode().Kind != yaml.SequenceNode {
		return nil, false
	}
	return SortedTexts(parsed.YNode())
}
