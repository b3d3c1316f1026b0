// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlprint

import (
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// plain prints nodes as the encoder does, in a tenth of the time and without its events, where they are plain, as nearly all
// resources are: collections in block style, scalars of one line of ASCII, comments above keys and behind scalars. What it
// prints of a node that is not plain is worth nothing. FuzzPlain holds the two equal.
type plain struct {
	text []byte
	// inner is how far sequences in mappings are indented.
	inner int
}

// printPlain returns ok false where a node is not plain.
func printPlain(n *yaml.Node, style yaml.SequenceIndentStyle) (text []byte, ok bool) {
	p := plain{text: make([]byte, 0, 512)}
	if style == yaml.WideSequenceStyle {
		p.inner = indentation
	}
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 && !commented(n) {
		n = n.Content[0]
	}
	switch {
	case !isBlock(n) || len(n.Content) == 0:
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
	// maxKey is shorter than the longest key for which the encoder needs no question mark.
	maxKey = 100
)

func commented(n *yaml.Node) bool {
	return n.HeadComment != "" || n.LineComment != "" || n.FootComment != ""
}

// isBlock tells whether a node is a collection that is printed as lines, with nothing of its own.
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
	return (n.Style == 0 || len(n.Content) == 0 && n.Style == yaml.FlowStyle) && n.Anchor == "" && !commented(n)
}

// mapping prints the fields of a mapping. inline says that the first key goes on where the text ends.
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

// value prints the value of a field.
func (p *plain) value(n *yaml.Node, indent int) bool {
	switch {
	case n.Kind == yaml.ScalarNode:
		p.text = append(p.text, ' ')
		return p.line(n)
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
		p.indent(indent)
		p.text = append(p.text, "- "...)
		switch {
		case item.Kind == yaml.ScalarNode:
			if item.HeadComment != "" || !p.line(item) {
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

// comment prints the lines of a comment above a key.
func (p *plain) comment(text string, indent int) bool {
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		if line == "" || line[0] != '#' || !printable(line) {
			return false
		}
		p.indent(indent)
		p.text = append(append(p.text, line...), '\n')
		text = rest
	}
	return true
}

// line prints a scalar and the comment behind it.
func (p *plain) line(n *yaml.Node) bool {
	if n.FootComment != "" || !p.scalar(n) {
		return false
	}
	if c := n.LineComment; c != "" {
		if c[0] != '#' || !printable(c) {
			return false
		}
		p.text = append(append(p.text, ' '), c...)
	}
	p.text = append(p.text, '\n')
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
	case bare(n.Value):
		p.text = append(p.text, n.Value...)
	default:
		p.quote(n.Value, '\'', '\'')
	}
	return true
}

// quote prints a text in quotes. Before those inside, and before itself, stands the escape.
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

// bare tells whether a text needs no quotes in block style.
func bare(text string) bool {
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

// Text returns the node of a text as the encoder prints strings of Go: in quotes, too, where readers of YAML 1.1 take them for
// something else.
func Text(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: text}
	switch text {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		n.Style = yaml.DoubleQuotedStyle
	}
	if base60.MatchString(text) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

var base60 = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`)

// impliedTag returns the tag that a text has without quotes.
func impliedTag(text string) string {
	// These begin what is something else than a string; the empty text does, too.
	if text != "" && strings.IndexByte("+-0123456789yYnNtTfFoO~<.", text[0]) < 0 {
		return yaml.NodeTagString
	}
	n := yaml.Node{Kind: yaml.ScalarNode, Value: text}
	return n.ShortTag()
}
