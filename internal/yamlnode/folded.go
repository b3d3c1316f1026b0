// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// QuoteFolded changes folded scalars (>) to double quotes if the YAML encoder would print a different text: it adds an empty
// line before a line that begins with a space. n must be finite.
func QuoteFolded(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style&yaml.FoldedStyle != 0 && !staysFolded(n.Value) {
		n.Style = n.Style&^yaml.FoldedStyle | yaml.DoubleQuotedStyle
	}
	for _, below := range n.Content {
		QuoteFolded(below)
	}
}

// staysFolded reports whether a folded scalar has the same text after printing and parsing.
func staysFolded(text string) bool {
	sequence := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{String(text, yaml.FoldedStyle), String("", 0)}}
	var printed bytes.Buffer
	encoder := yaml.NewEncoder(&printed)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	var read []string
	if encoder.Encode(sequence) != nil || encoder.Close() != nil || yaml.Unmarshal(printed.Bytes(), &read) != nil {
		return false
	}
	return len(read) == 2 && read[0] == text
}
