// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// RareEnds are characters that the YAML encoder treats as line breaks, unlike most readers.
const RareEnds = "\u0085\u2028\u2029"

// Unreadable reports whether n is a scalar that the YAML encoder prints as multiple lines that cannot be parsed. If the first
// line begins with a tab, the encoder omits the indentation indicator. After the characters of RareEnds, it adds indentation
// that parsers take for content.
func Unreadable(n *yaml.Node) bool {
	quotes := yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle
	return n.Kind == yaml.ScalarNode && n.Style&quotes == 0 && (strings.HasPrefix(n.Value, "\t") || strings.ContainsAny(n.Value, RareEnds)) &&
		(n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || strings.Contains(n.Value, "\n"))
}

// QuoteUnreadable changes Unreadable scalars at and below n to double quotes. It does not follow aliases.
func QuoteUnreadable(n *yaml.Node) {
	if Unreadable(n) {
		n.Style = n.Style&yaml.TaggedStyle | yaml.DoubleQuotedStyle
	}
	for _, below := range n.Content {
		QuoteUnreadable(below)
	}
}
