// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// setterComment is how a comment begins that says of which setters a value is made, as in "# kpt-set: ${image}:${tag}".
const setterComment = "kpt-set: "

var setterReference = regexp.MustCompile(`\$\{([^}]*)\}`)

// setterPattern returns the pattern of setters in a line comment, or nothing.
func setterPattern(comment string) string {
	pattern, ok := strings.CutPrefix(comment, "# "+setterComment)
	if !ok {
		return ""
	}
	return strings.TrimSpace(pattern)
}

// listComment returns the comment in which a list's setter is: behind its key, or behind the list in flow style.
func listComment(key, list *yaml.Node) string {
	if list.Style&yaml.FlowStyle != 0 {
		return list.LineComment
	}
	return key.LineComment
}

// listSetter returns the setter that a pattern is nothing but, as that of a list must be, or nothing.
func listSetter(pattern string) string {
	match := setterReference.FindStringSubmatch(pattern)
	if match == nil || match[0] != pattern {
		return ""
	}
	return match[1]
}

// setterValues finds the values of a pattern's setters in the text that was made of them. It returns none unless each has
// one.
func setterValues(pattern, text string) map[string]string {
	names := setterReference.FindAllStringSubmatch(pattern, -1)
	fixed := setterReference.Split(pattern, -1)
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

// sortedTexts returns the texts of a list of scalars, sorted, and whether it is one.
func sortedTexts(list *yaml.Node) ([]string, bool) {
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

// parseList returns the texts of a list of scalars in YAML, sorted, and whether text is one.
func parseList(text string) ([]string, bool) {
	parsed, err := yaml.Parse(text)
	if err != nil || parsed.YNode().Kind != yaml.SequenceNode {
		return nil, false
	}
	return sortedTexts(parsed.YNode())
}
