// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Same reports whether two nodes are equivalent to every YAML reader: same values, same order of fields, and the same comment
// lines in the same order. It ignores styles, anchors and blank lines, follows aliases, and enters documents. The nodes must be
// finite.
func Same(a, b *yaml.Node) bool {
	return SameValues(a, b) && slices.Equal(commentLines(a, nil), commentLines(b, nil))
}

// SameValues is Same without comparing comments.
func SameValues(a, b *yaml.Node) bool { return pairs{}.equal(a, b) }

// pairs caches results for pairs of nodes reached through aliases. A few lines of YAML can expand to billions of nodes, but
// have few such pairs.
type pairs map[[2]*yaml.Node]bool

func (p pairs) equal(a, b *yaml.Node) bool {
	if ra, rb := Resolve(a), Resolve(b); ra != a || rb != b {
		pair := [2]*yaml.Node{ra, rb}
		if !p[pair] {
			p[pair] = p.equal(ra, rb)
		}
		return p[pair]
	}
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) || a.Tag != b.Tag && a.ShortTag() != b.ShortTag() {
		return false
	}
	if a.Kind == yaml.ScalarNode {
		return a.Value == b.Value && (quoted(a) == quoted(b) || !Ambiguous(a.Value)) && a.ShortTag() == b.ShortTag()
	}
	// Compare the number of children first, because most differences are there.
	for i, below := range a.Content {
		if len(below.Content) != len(b.Content[i].Content) && below.Kind != yaml.AliasNode && b.Content[i].Kind != yaml.AliasNode {
			return false
		}
	}
	for i, below := range a.Content {
		if !p.equal(below, b.Content[i]) {
			return false
		}
	}
	return true
}

func quoted(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// Ambiguous reports whether YAML 1.1 readers parse an unquoted text as a boolean or number that YAML 1.2 readers parse as a
// string.
func Ambiguous(text string) bool {
	switch text {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return true
	}
	return strings.Contains(text, ":") && base60.MatchString(text)
}

var base60 = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`)

// commentLines appends the comment lines at and below n in text order.
func commentLines(n *yaml.Node, lines []string) []string {
	return appendLines(upperLines(n, lines), n.FootComment)
}

// upperLines is commentLines without n's foot comment. A key's foot comment comes after the value.
func upperLines(n *yaml.Node, lines []string) []string {
	lines = appendLines(appendLines(lines, n.HeadComment), n.LineComment)
	for i, below := range n.Content {
		switch {
		case n.Kind != yaml.MappingNode:
			lines = commentLines(below, lines)
		case i%2 == 0:
			lines = upperLines(below, lines)
		default:
			lines = appendLines(commentLines(below, lines), n.Content[i-1].FootComment)
		}
	}
	return lines
}

func appendLines(lines []string, comment string) []string {
	for comment != "" {
		var line string
		if line, comment, _ = strings.Cut(comment, "\n"); strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
