// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package yamlprint prints YAML nodes byte for byte like the encoder of go.yaml.in/yaml/v3, in bounded memory. The exception is
// text that the encoder prints in a form that cannot be parsed, such as text that begins with a tab: Print quotes it.
//
// An encoder keeps all its events until it is garbage-collected, which takes half a gigabyte and most of the time for thousands
// of resources. Print therefore splits long sequences over several encoders and joins the output, and prints simple nodes
// without an encoder. Print every node that may be large with this package.
package yamlprint

import (
	"bytes"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/parallel"
	"github.com/krmfn/krmfn/internal/yamlnode"
)

// perEncoder is the approximate maximum number of nodes that one encoder prints.
const perEncoder = 1000

// Print prints a node as a YAML document with an indentation of two spaces. With yaml.WideSequenceStyle, sequences in mappings
// are indented, otherwise not. Print does not modify the node.
func Print(n *yaml.Node, style yaml.SequenceIndentStyle) ([]byte, error) {
	return printer{style, perEncoder}.print(n)
}

// preprinted is the kind of a node whose value is the printed text of a sequence's items. Only Print supports it.
const preprinted yaml.Kind = 1 << 7

// Items returns a sequence whose items are printed at once, with wide sequences, so that they need not exist as nodes all at
// the same time. Only Print can print the sequence, and only inside block mappings and sequences of block mappings. node
// converts a value to its node; it must use [Text] for strings.
func Items[T any](values []T, node func(*T) *yaml.Node) (*yaml.Node, error) {
	const perEncoder = 50
	parts := slices.Collect(slices.Chunk(values, perEncoder))
	texts := make([][]byte, len(parts))
	err := parallel.Each(len(parts), func(i int) (err error) {
		sequence := &yaml.Node{Kind: yaml.SequenceNode, Content: make([]*yaml.Node, 0, len(parts[i]))}
		for j := range parts[i] {
			sequence.Content = append(sequence.Content, node(&parts[i][j]))
		}
		texts[i], err = printer{style: yaml.WideSequenceStyle}.printUnsplit(sequence)
		return err
	})
	text := string(slices.Concat(texts...))
	return &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{{Kind: preprinted, Value: text}}}, err
}

type printer struct {
	style      yaml.SequenceIndentStyle
	perEncoder int
}

func (p printer) print(n *yaml.Node) ([]byte, error) {
	if len(n.Content) == 1 && n.Content[0].Kind == preprinted {
		return []byte(n.Content[0].Value), nil
	}
	var parts []*yaml.Node
	text, err := p.printUnsplit(p.split(n, &parts))
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

// printUnsplit prints a node without splitting it.
func (p printer) printUnsplit(n *yaml.Node) ([]byte, error) {
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

// split replaces the items of long sequences with placeholders, and appends the items to parts in text order. It splits only
// block sequences that are values of mappings, where every item starts on a new line.
func (p printer) split(n *yaml.Node, parts *[]*yaml.Node) *yaml.Node {
	if n.Style&yaml.FlowStyle != 0 || n.Kind == yaml.AliasNode || p.nodesLeft(n, p.perEncoder) >= 0 {
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

// splitItems moves the items of a sequence to parts, in groups of about perEncoder nodes. The last items remain.
func (p printer) splitItems(sequence *yaml.Node, parts *[]*yaml.Node) *yaml.Node {
	own := *sequence
	own.Content = nil
	begin, left := 0, p.perEncoder
	for i, item := range sequence.Content {
		if left = p.nodesLeft(item, left); left < 0 {
			*parts = append(*parts, &yaml.Node{Kind: yaml.SequenceNode, Content: sequence.Content[begin : i+1]})
			own.Content = append(own.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: placeholder, LineComment: "#" + mark})
			begin, left = i+1, p.perEncoder
		}
	}
	own.Content = append(own.Content, sequence.Content[begin:]...)
	return &own
}

// nodesLeft returns left minus the number of nodes at and below n, or a negative number if n has more than left nodes.
func (p printer) nodesLeft(n *yaml.Node, left int) int {
	if left--; n.Kind == preprinted {
		left = -1
	}
	for _, c := range n.Content {
		if left < 0 {
			break
		}
		left = p.nodesLeft(c, left)
	}
	return left
}

// dependent reports whether n's output depends on its surroundings: foot comments and comments after a collection are printed
// with the next node, and multi-line single-quoted scalars, comments in flow style, and rare line separators are not uniformly
// indented. A sequence with such nodes is not split.
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

// scalarLine is the printed line of a placeholder. The mark appears nowhere else, because the encoder escapes this control
// character outside comments.
const (
	placeholder = "x"
	mark        = "\x01"
	line        = "- " + placeholder + " #" + mark + "\n"
)

// join replaces each placeholder with the next text, indented like the placeholder.
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
