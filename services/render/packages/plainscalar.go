// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// value reads a scalar or an empty or flow collection, with its line comment, and moves to the next line with content. outer is
// the indentation of the key or item that has the value.
func (r *plainReader) value(text string, line, indent, outer int) (n *yaml.Node, ok bool) {
	switch {
	case text == "{}":
		n, ok = r.node(yaml.MappingNode, yaml.NodeTagMap, line, indent+1), true
		n.Style = yaml.FlowStyle
	case text == "[]":
		n, ok = r.node(yaml.SequenceNode, yaml.NodeTagSeq, line, indent+1), true
		n.Style = yaml.FlowStyle
	case text[0] == '{':
		n, ok = r.flow(text, line, indent)
	default:
		n = r.node(yaml.ScalarNode, yaml.NodeTagString, line, indent+1)
		switch text[0] {
		case '"', '\'':
			ok = quoted(n, text)
		case '|':
			ok = r.literal(n, text[1:], outer)
		default:
			ok = unquoted(n, text)
		}
	}
	return n, ok && r.skip()
}

// unquoted reads a plain (unquoted) scalar and its line comment.
func unquoted(n *yaml.Node, text string) bool {
	if !isWord(text[0]) && (strings.IndexByte("-$(+<=^;~\\", text[0]) < 0 || strings.HasPrefix(text, "- ") || text == "-") ||
		strings.HasPrefix(text, "...") || strings.HasPrefix(text, "---") {
		return false
	}
	n.Value = text
	if at := strings.Index(text, " #"); at >= 0 {
		n.Value, n.LineComment = strings.TrimRight(text[:at], " "), text[at+1:]
	}
	n.Tag = tagOf(n.Value)
	return !strings.Contains(n.Value, ": ") && n.Value[len(n.Value)-1] != ':'
}

// literal reads a literal block scalar ("|"), whose lines are indented deeper than outer. header is the text after the "|".
func (r *plainReader) literal(n *yaml.Node, header string, outer int) bool {
	if header != "" && header != "-" && header != "+" || r.next == len(r.lines) || !r.ended {
		return false
	}
	first := r.lines[r.next]
	if first.text == "" || first.text[0] == '\t' || first.indent <= outer {
		return false
	}
	end, size := r.next, 0
	for ; end < len(r.lines); end++ {
		line := &r.lines[end]
		if line.indent < first.indent && line.text != "" {
			break
		}
		size += max(0, line.indent-first.indent) + len(line.text) + 1
	}
	var text strings.Builder
	text.Grow(size)
	for ; r.next < end; r.next++ {
		line := &r.lines[r.next]
		for range line.indent - first.indent {
			text.WriteByte(' ')
		}
		text.WriteString(line.text)
		text.WriteByte('\n')
	}
	n.Style, n.Value = yaml.LiteralStyle, text.String()
	if header != "+" {
		n.Value = strings.TrimRight(n.Value, "\n")
	}
	if header == "" {
		n.Value = text.String()[:len(n.Value)+1]
	}
	return true
}

// flow reads a flow mapping whose keys and values are plain words.
func (r *plainReader) flow(text string, line, indent int) (*yaml.Node, bool) {
	n := r.node(yaml.MappingNode, yaml.NodeTagMap, line, indent+1)
	n.Style, n.Content = yaml.FlowStyle, r.newChildren(4)
	for at, last := 1, false; !last; {
		end := strings.IndexAny(text[at:], ",}")
		if end < 0 {
			return nil, false
		}
		end += at
		last = text[end] == '}'
		begin := end - len(strings.TrimLeft(text[at:end], " "))
		name, rest, ok := cutKey(text[begin:end])
		value := strings.TrimLeft(rest, " ")
		if !ok || value == "" || !isWord(value[0]) || strings.Trim(value, words) != "" || strings.HasPrefix(value, "...") {
			return nil, false
		}
		key, scalar := r.node(yaml.ScalarNode, tagOf(name), line, indent+begin+1), r.node(yaml.ScalarNode, tagOf(value), line, indent+end-len(value)+1)
		key.Value, scalar.Value = name, value
		n.Content = append(n.Content, key, scalar)
		at = end + 1
		if last && at != len(text) {
			return nil, false
		}
	}
	return n, true
}

// words are the characters without special meaning in flow style.
const words = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-"

func quoted(n *yaml.Node, text string) bool {
	value, rest, ended := strings.Cut(text[1:], text[:1])
	n.Style = yaml.DoubleQuotedStyle
	if text[0] == '\'' {
		n.Style = yaml.SingleQuotedStyle
	} else if strings.Contains(value, "\\") {
		return false
	}
	n.Value, n.LineComment = value, strings.TrimLeft(rest, " ")
	return ended && (rest == "" || rest[0] == ' ' && n.LineComment[0] == '#')
}

func tagOf(text string) string {
	// Only scalars with these first characters can be anything but strings.
	if strings.IndexByte("+-0123456789yYnNtTfFoO~<.", text[0]) < 0 {
		return yaml.NodeTagString
	}
	n := yaml.Node{Kind: yaml.ScalarNode, Value: text}
	return n.ShortTag()
}
