// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// RareEnds end lines for the encoder of YAML, though not for most readers.
const RareEnds = "\u0085\u2028\u2029"

// Unreadable tells whether a node is a text that the encoder of YAML prints as lines which nobody can read again: where the first of
// them begins with a tab, it does not say how far the lines are indented; rare ends it indents and does not read as such.
func Unreadable(n *yaml.Node) bool {
	quotes := yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle
	return n.Kind == yaml.ScalarNode && n.Style&quotes == 0 && (strings.HasPrefix(n.Value, "\t") || strings.ContainsAny(n.Value, RareEnds)) &&
		(n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || strings.Contains(n.Value, "\n"))
}

// QuoteUnreadable gives texts that are Unreadable double quotes. It does not follow aliases.
func QuoteUnreadable(n *yaml.Node) {
	if Unreadable(n) {
		n.Style = n.Style&yaml.TaggedStyle | yaml.DoubleQuotedStyle
	}
	for _, below := range n.Content {
		QuoteUnreadable(below)
	}
}
