// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package setters reads the comments that mark the fields of setters.
package setters

import (
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Comment is how a comment begins that says of which setters a value is made, as in "# kpt-set: ${image}:${tag}".
const Comment = "kpt-set: "

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// Pattern returns the pattern of setters in a line comment, or nothing.
func Pattern(comment string) string {
	pattern, ok := strings.CutPrefix(comment, "# "+Comment)
	if !ok {
		return ""
	}
	return strings.TrimSpace(pattern)
}

// ListComment returns the comment in which a list's setter is: behind its key, or behind the list in flow style.
func ListComment(key, list *yaml.Node) string {
	if list.Style&yaml.FlowStyle != 0 {
		return list.LineComment
	}
	return key.LineComment
}

// OfList returns the setter that a pattern is nothing but, as that of a list must be, or nothing.
func OfList(pattern string) string {
	match := reference.FindStringSubmatch(pattern)
	if match == nil || match[0] != pattern {
		return ""
	}
	return match[1]
}

// Values finds the values of a pattern's setters in the text that was made of them. It returns none unless each has
// one.
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

// SortedTexts returns the texts of a list of scalars, sorted, and whether it is one.
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

// ParseList returns the texts of a list of scalars in YAML, sorted, and whether text is one.
func ParseList(text string) ([]string, bool) {
	parsed, err := yaml.Parse(text)
	if err != nil || parsed.YNode().Kind != yaml.SequenceNode {
		return nil, false
	}
	return SortedTexts(parsed.YNode())
}
