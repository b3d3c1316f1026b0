// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package yamlprint prints YAML nodes as the encoder of go.yaml.in/yaml/v3 does, byte for byte, in bounded memory. Only what that
// prints so that it cannot be read again, as a text that begins with a tab, it quotes.
//
// That encoder keeps every event that it has printed until it is thrown away, which for thousands of resources is half a
// gigabyte and most of the time. Print therefore gives long sequences to several encoders, and puts their texts together; what is
// plain it prints without any.
// No other package works around it: whatever may be long is printed here.
package yamlprint

import (
	"bytes"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/parallel"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// perEncoder is about how many nodes one encoder prints.
const perEncoder = 1000

// Print returns a node as a YAML document, indented by two. The style says whether sequences in mappings are indented, too:
// only yaml.WideSequenceStyle does. The node is not changed.
func Print(n *yaml.Node, style yaml.SequenceIndentStyle) ([]byte, error) {
	return printer{style, perEncoder}.print(n)
}

// printed is the kind of a node whose value is the text of a sequence's items. Other encoders refuse it.
const printed yaml.Kind = 1 << 7

// Items returns a sequence of values that are printed already, with wide sequences, and so need not be read as nodes and
// printed again. Only Print can print it, below mappings in block style and sequences of those. node returns the node that a
// value is encoded as, with [Text] for its texts.
func Items[T any](values []T, node func(*T) *yaml.Node) (*yaml.Node, error) {
	const perEncoder = 50
	parts := slices.Collect(slices.Chunk(values, perEncoder))
	texts := make([][]byte, len(parts))
	err := parallel.Each(len(parts), func(i int) (err error) {
		sequence := &yaml.Node{Kind: yaml.SequenceNode, Content: make([]*yaml.Node, 0, len(parts[i]))}
		for j := range parts[i] {
			sequence.Content = append(sequence.Content, node(&parts[i][j]))
		}
		texts[i], err = printer{style: yaml.WideSequenceStyle}.whole(sequence)
		return err
	})
	text := string(slices.Concat(texts...))
	return &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{{Kind: printed, Value: text}}}, err
}

type printer struct {
	style      yaml.SequenceIndentStyle
	perEncoder int
}

func (p printer) print(n *yaml.Node) ([]byte, error) {
	if len(n.Content) == 1 && n.Content[0].Kind == printed {
		return []byte(n.Content[0].Value), nil
	}
	var parts []*yaml.Node
	text, err := p.whole(p.split(n, &parts))
	if err != nil || len(parts) == 0 {
		return text, err
	}
	texts := make([][]byte, len(parts))
	err = parallel.Each(len(parts), func(i int) (err error) {
		texts[i], err = p.print(parts[i])
		return err
	})
	return join(text, texts), err
}

// whole prints a node in one go.
func (p printer) whole(n *yaml.Node) ([]byte, error) {
	if text, ok := printPlain(n, p.style); ok {
		return text, nil
	}
	if yamlnode.Contains(n, yamlnode.Unreadable) {
		n = yamlnode.Copy(n)
		yamlnode.QuoteUnreadable(n)
	}
	return p.encode(n)
}

func (p printer) encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.CompactSeqIndent()
	if p.style == yaml.WideSequenceStyle {
		encoder.DefaultSeqIndent()
	}
	err := encoder.Encode(value)
	return text.Bytes(), err
}

// split returns a node in which a placeholder stands for the items of each long sequence that are in parts, in the order of
// the text. Only sequences that are a mapping's value, in block style, are split: each of their items begins a line.
func (p printer) split(n *yaml.Node, parts *[]*yaml.Node) *yaml.Node {
	if n.Style&yaml.FlowStyle != 0 || n.Kind == yaml.AliasNode || p.take(n, p.perEncoder) >= 0 {
		return n
	}
	own := *n
	own.Content = slices.Clone(n.Content)
	for i, c := range own.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && c.Kind == yaml.SequenceNode && c.Style&yaml.FlowStyle == 0 && !yamlnode.Contains(c, dependent) {
			own.Content[i] = p.splitItems(c, parts)
		} else {
			own.Content[i] = p.split(c, parts)
		}
	}
	return &own
}

// splitItems moves the items of a sequence to parts, as many at once as one encoder prints, but for the last ones.
func (p printer) splitItems(sequence *yaml.Node, parts *[]*yaml.Node) *yaml.Node {
	own := *sequence
	own.Content = nil
	begin, left := 0, p.perEncoder
	for i, item := range sequence.Content {
		if left = p.take(item, left); left < 0 {
			*parts = append(*parts, &yaml.Node{Kind: yaml.SequenceNode, Content: sequence.Content[begin : i+1]})
			own.Content = append(own.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: placeholder, LineComment: "#" + mark})
			begin, left = i+1, p.perEncoder
		}
	}
	own.Content = append(own.Content, sequence.Content[begin:]...)
	return &own
}

// take returns what is left of a number of nodes without those of n; a negative number when they are not enough.
func (p printer) take(n *yaml.Node, left int) int {
	if left--; n.Kind == printed {
		left = -1
	}
	for _, c := range n.Content {
		if left < 0 {
			break
		}
		left = p.take(c, left)
	}
	return left
}

// dependent reports whether a node is printed with what follows it, as comments at the foot and behind a collection are;
// in the place of a comment below it; or not indented as a whole, as lines in single quotes, comments in flow style and rare
// line separators are. Sequences with such nodes are printed by one encoder.
func dependent(n *yaml.Node) bool {
	switch {
	case n.FootComment != "":
		return true
	case n.Kind == yaml.ScalarNode:
		return strings.Contains(n.LineComment, "\n") || n.Style&yaml.SingleQuotedStyle != 0 && strings.Contains(n.Value, "\n") ||
			strings.ContainsAny(n.Value, yamlnode.RareEnds)
	case n.Style&yaml.FlowStyle != 0:
		return yamlnode.Contains(n, func(n *yaml.Node) bool { return n.HeadComment != "" || n.LineComment != "" })
	}
	return n.LineComment != "" || n.Kind == yaml.SequenceNode && n.HeadComment != ""
}

// The line of a placeholder. The encoder prints comments as they are, and the character of this one nowhere else.
const (
	placeholder = "x"
	mark        = "\x01"
	line        = "- " + placeholder + " #" + mark + "\n"
)

// join puts texts in the place of placeholders, with their indentation.
func join(text []byte, texts [][]byte) []byte {
	var out bytes.Buffer
	for _, part := range texts {
		before, after, _ := bytes.Cut(text, []byte(line))
		text = after
		left := bytes.TrimRight(before, " ")
		out.Write(left)
		for line := range bytes.Lines(part) {
			if len(line) > 1 {
				out.Write(before[len(left):])
			}
			out.Write(line)
		}
	}
	out.Write(text)
	return out.Bytes()
}
