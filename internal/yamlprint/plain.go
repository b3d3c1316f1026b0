// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlprint

import (
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// plain prints simple nodes in a tenth of the encoder's time, byte for byte the same. It supports block collections,
// single-line ASCII scalars, literal block scalars, comments above the document, keys and items, and line comments of scalars.
// After a method returns false, text is useless and the encoder must print the node. FuzzPlain compares the two.
type plain struct {
	text []byte
	// inner is the additional indentation of sequences in mappings, in spaces.
	inner int
}

// printPlain prints n. ok is false if n is not supported.
func printPlain(n *yaml.Node, style yaml.SequenceIndentStyle) (text []byte, ok bool) {
	p := plain{text: make([]byte, 0, 512)}
	if style == yaml.WideSequenceStyle {
		p.inner = indentation
	}
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 && n.LineComment == "" && n.FootComment == "" {
		if !p.head(n.HeadComment) {
			return nil, false
		}
		n = n.Content[0]
	}
	switch {
	case !isBlock(n) || n.HeadComment != "" || len(n.Content) == 0:
		return nil, false
	case n.Kind == yaml.MappingNode:
		ok = p.mapping(n, 0, false)
	default:
		ok = p.sequence(n, 0)
	}
	return p.text, ok
}

const (
	indentation = 2
	// maxKey is the maximum key length in bytes. The encoder prints longer keys with a question mark, starting somewhat above
	// this limit.
	maxKey = 100
)

// isBlock reports whether n is a block collection or an empty collection, without anchor or comments other than a head comment.
func isBlock(n *yaml.Node) bool {
	switch n.Kind {
	case yaml.MappingNode:
		if n.Tag != yaml.NodeTagMap && n.Tag != "" || len(n.Content)%2 != 0 {
			return false
		}
	case yaml.SequenceNode:
		if n.Tag != yaml.NodeTagSeq && n.Tag != "" {
			return false
		}
	default:
		return false
	}
	return (n.Style == 0 || len(n.Content) == 0 && n.Style == yaml.FlowStyle) && n.Anchor == "" &&
		n.LineComment == "" && n.FootComment == ""
}

// mapping prints the fields of a mapping. If inline is set, the first key continues the current line.
func (p *plain) mapping(n *yaml.Node, indent int, inline bool) bool {
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.LineComment != "" || len(key.Value) > maxKey || key.Value == "" {
			return false
		}
		if !inline || i > 0 {
			if !p.comment(key.HeadComment, indent) {
				return false
			}
			p.indent(indent)
		} else if key.HeadComment != "" {
			return false
		}
		if key.FootComment != "" || value.HeadComment != "" || !p.scalar(key) {
			return false
		}
		p.text = append(p.text, ':')
		if !p.value(value, indent) {
			return false
		}
	}
	return true
}

// value prints the value of a key.
func (p *plain) value(n *yaml.Node, indent int) bool {
	switch {
	case n.Kind == yaml.ScalarNode:
		p.text = append(p.text, ' ')
		return p.scalarLine(n, indent+indentation)
	case !isBlock(n):
		return false
	case len(n.Content) == 0:
		p.text = append(p.text, ' ')
		p.empty(n)
		return true
	}
	p.text = append(p.text, '\n')
	if n.Kind == yaml.MappingNode {
		return p.mapping(n, indent+indentation, false)
	}
	return p.sequence(n, indent+p.inner)
}

func (p *plain) sequence(n *yaml.Node, indent int) bool {
	for _, item := range n.Content {
		if !p.comment(item.HeadComment, indent) {
			return false
		}
		p.indent(indent)
		p.text = append(p.text, "- "...)
		switch {
		case item.Kind == yaml.ScalarNode:
			if !p.scalarLine(item, indent+indentation) {
				return false
			}
		case !isBlock(item):
			return false
		case len(item.Content) == 0:
			p.empty(item)
		case item.Kind != yaml.MappingNode || !p.mapping(item, indent+indentation, true):
			return false
		}
	}
	return true
}

func (p *plain) empty(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		p.text = append(p.text, "{}\n"...)
	} else {
		p.text = append(p.text, "[]\n"...)
	}
}

func (p *plain) indent(n int) {
	for range n {
		p.text = append(p.text, ' ')
	}
}

// head prints the head comments of a document, which blank lines may separate.
func (p *plain) head(text string) bool {
	if text == "" {
		return true
	}
	for part := range strings.SplitSeq(text, "\n\n") {
		if part == "" || !p.comment(part, 0) {
			return false
		}
		p.text = append(p.text, '\n')
	}
	return true
}

// comment prints the head comment of a key or item.
func (p *plain) comment(text string, indent int) bool {
	for text != "" {
		line, rest, more := strings.Cut(text, "\n")
		if line == "" || line[0] != '#' || more && rest == "" || !readable(line) {
			return false
		}
		p.indent(indent)
		p.text = append(append(p.text, line...), '\n')
		text = rest
	}
	return true
}

// scalarLine prints a scalar and its line comment. indent is the indentation of a literal block scalar.
func (p *plain) scalarLine(n *yaml.Node, indent int) bool {
	if n.Style == yaml.LiteralStyle || n.Style == 0 && strings.Contains(n.Value, "\n") {
		return p.literal(n, indent)
	}
	if n.FootComment != "" || !p.scalar(n) {
		return false
	}
	if c := n.LineComment; c != "" {
		if c[0] != '#' || !readable(c) {
			return false
		}
		p.text = append(append(p.text, ' '), c...)
	}
	p.text = append(p.text, '\n')
	return true
}

// literal prints a literal block scalar. It returns false if leading or trailing white space needs an indentation or chomping
// indicator other than "-".
func (p *plain) literal(n *yaml.Node, indent int) bool {
	text := n.Value
	if n.Anchor != "" || n.LineComment != "" || n.FootComment != "" || n.Tag != "" && n.Tag != yaml.NodeTagString || text == "" ||
		strings.IndexByte(" \t\n", text[0]) >= 0 || strings.HasSuffix(text, "\n\n") {
		return false
	}
	p.text = append(p.text, '|')
	if text[len(text)-1] != '\n' {
		p.text = append(p.text, '-')
	}
	p.text = append(p.text, '\n')
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" {
			if line[len(line)-1] == ' ' || !readable(line) {
				return false
			}
			p.indent(indent)
		}
		p.text = append(append(p.text, line...), '\n')
	}
	return true
}

func (p *plain) scalar(n *yaml.Node) bool {
	if n.Anchor != "" || !printable(n.Value) || strings.HasPrefix(n.Tag, "tag:") {
		return false
	}
	style := n.Style
	if n.Tag != "" && (n.Tag != yaml.NodeTagString || style == 0) {
		switch implied := impliedTag(n.Value); {
		case implied == n.Tag:
		case n.Tag != yaml.NodeTagString:
			return false
		default:
			style = yaml.DoubleQuotedStyle
		}
	}
	switch {
	case style == yaml.DoubleQuotedStyle:
		p.quote(n.Value, '"', '\\')
	case style == yaml.SingleQuotedStyle:
		p.quote(n.Value, '\'', '\'')
	case style != 0 || n.Value == "":
		return false
	case needsNoQuotes(n.Value):
		p.text = append(p.text, n.Value...)
	default:
		p.quote(n.Value, '\'', '\'')
	}
	return true
}

// quote prints a quoted scalar. It puts escape before each mark and each escape in the text.
func (p *plain) quote(text string, mark, escape byte) {
	p.text = append(p.text, mark)
	for i := range len(text) {
		if text[i] == mark || text[i] == escape {
			p.text = append(p.text, escape)
		}
		p.text = append(p.text, text[i])
	}
	p.text = append(p.text, mark)
}

// needsNoQuotes reports whether a text needs no quotes in block style.
func needsNoQuotes(text string) bool {
	last := len(text) - 1
	if text[0] == ' ' || text[last] == ' ' || strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...") ||
		strings.IndexByte("#,[]{}&*!|>'\"%@`", text[0]) >= 0 {
		return false
	}
	if (text[0] == '?' || text[0] == '-') && (last == 0 || text[1] == ' ') {
		return false
	}
	for i := range len(text) {
		switch text[i] {
		case ':':
			if i == last || text[i+1] == ' ' {
				return false
			}
		case '#':
			if text[i-1] == ' ' {
				return false
			}
		}
	}
	return true
}

func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// readable reports whether the encoder prints a line of a comment or literal scalar unchanged: the line is valid UTF-8 and
// contains no line break or character that the encoder escapes.
func readable(line string) bool {
	for _, r := range line {
		switch {
		case r >= ' ' && r <= '~', r == '\t', r >= 0xa0 && r <= 0xd7ff && r != '\u2028' && r != '\u2029':
		default:
			return false
		}
	}
	return true
}

// Text returns a string scalar that Print prints like the encoder prints a Go string. It is quoted if YAML 1.1 readers would
// parse it as another type.
func Text(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: text}
	switch {
	case yamlnode.Ambiguous(text):
		n.Style = yaml.DoubleQuotedStyle
	case !utf8.ValidString(text):
		n.SetString(text) // base64
	}
	return n
}

// impliedTag returns the tag that the parser assigns to an unquoted text.
func impliedTag(text string) string {
	// Only the empty text and texts with these first characters can be anything but strings.
	if text != "" && strings.IndexByte("+-0123456789yYnNtTfFoO~<.", text[0]) < 0 {
		return yaml.NodeTagString
	}
	n := yaml.Node{Kind: yaml.ScalarNode, Value: text}
	return n.ShortTag()
}
