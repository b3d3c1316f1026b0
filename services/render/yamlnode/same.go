// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Same reports whether two nodes say the same to every reader of YAML: the same values, fields in the same order, and the
// same lines of comments in the same order. Styles, anchors and blank lines do not count, an alias counts as what it stands
// for, a document as what it holds. The nodes must be finite.
func Same(a, b *yaml.Node) bool {
	return SameValues(a, b) && slices.Equal(commentLines(a, nil), commentLines(b, nil))
}

// SameValues is Same without the comments.
func SameValues(a, b *yaml.Node) bool { return pairs{}.equal(a, b) }

// pairs are those of nodes that aliases led to and that are equal. A few lines of YAML can stand for billions of nodes, but
// not for many pairs.
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
	// Most differences are in the number of fields.
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

// Ambiguous reports whether readers of YAML 1.1 take a text without quotes for a boolean or a number, where those of
// YAML 1.2 see a string.
func Ambiguous(text string) bool {
	switch text {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return true
	}
	return strings.Contains(text, ":") && base60.MatchString(text)
}

var base60 = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`)

// commentLines appends the lines of the comments of a node, and of those below it, in the order of the text.
func commentLines(n *yaml.Node, lines []string) []string {
	return appendLines(upperLines(n, lines), n.FootComment)
}

// upperLines is commentLines without the comment at the foot, which of a key is below the value.
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
