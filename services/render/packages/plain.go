// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// plainReader reads documents as the decoder does, in a fifth of the time, where every line is plain, as in most resources:
// collections in block style, scalars of one line of ASCII, comments behind scalars only. FuzzPlainDocument holds the two equal.
type plainReader struct {
	lines []plainLine
	next  int
	// spare are nodes that nobody has yet. Asking for each by itself would be most of the work.
	spare []yaml.Node
}

// plainLine is a line without its indentation and its end.
type plainLine struct {
	text string
	// indent is where the text begins, number the line's, from 1.
	indent, number int
}

// readPlainDocument returns ok false for a document that is not plain.
func readPlainDocument(text string) (document *yaml.Node, ok bool) {
	r := plainReader{lines: make([]plainLine, 0, strings.Count(text, "\n")+1)}
	if !r.split(text) || len(r.lines) == 0 || r.lines[0].indent > 0 {
		return nil, false
	}
	r.spare = make([]yaml.Node, 0, 2*len(r.lines)+8)
	document = r.node(yaml.DocumentNode, "", 1, 1)
	root, ok := r.collection(0)
	document.Content = []*yaml.Node{root}
	return document, ok && r.next == len(r.lines)
}

// split finds the lines. The first may begin the document.
func (r *plainReader) split(text string) bool {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if number == 1 && line == "---" {
			continue
		}
		for i := range len(line) {
			if line[i] < ' ' || line[i] > '~' {
				return false
			}
		}
		text := strings.TrimLeft(line, " ")
		if text == "" || text[0] == '#' || line[len(line)-1] == ' ' {
			return false
		}
		r.lines = append(r.lines, plainLine{text, len(line) - len(text), number})
	}
	return true
}

func (r *plainReader) node(kind yaml.Kind, tag string, line, column int) *yaml.Node {
	if len(r.spare) == cap(r.spare) {
		r.spare = make([]yaml.Node, 0, 32)
	}
	r.spare = append(r.spare, yaml.Node{Kind: kind, Tag: tag, Line: line, Column: column})
	return &r.spare[len(r.spare)-1]
}

// collection reads the mapping or the sequence that begins with the next line, which has this indentation.
func (r *plainReader) collection(indent int) (*yaml.Node, bool) {
	if isItem(r.lines[r.next].text) {
		return r.sequence(indent)
	}
	return r.mapping(indent)
}

func isItem(text string) bool { return strings.HasPrefix(text, "- ") }

// more tells whether the next line goes on with a collection; deeper lines go on with a scalar, which is not plain.
func (r *plainReader) more(indent int) (more, ok bool) {
	if r.next == len(r.lines) || r.lines[r.next].indent < indent {
		return false, true
	}
	return true, r.lines[r.next].indent == indent
}

func (r *plainReader) sequence(indent int) (*yaml.Node, bool) {
	n := r.node(yaml.SequenceNode, yaml.NodeTagSeq, r.lines[r.next].number, indent+1)
	for {
		more, ok := r.more(indent)
		if !more || !ok {
			return n, ok
		}
		line := &r.lines[r.next]
		if !isItem(line.text) {
			// The sequence is a field's, and not indented.
			return n, true
		}
		rest := strings.TrimLeft(line.text[2:], " ")
		line.indent += len(line.text) - len(rest)
		line.text = rest
		var item *yaml.Node
		if _, _, isKey := cutKey(rest); isKey {
			item, ok = r.mapping(line.indent)
		} else {
			item, ok = r.value(rest, line.number, line.indent)
			r.next++
		}
		if !ok {
			return nil, false
		}
		n.Content = append(n.Content, item)
	}
}

func (r *plainReader) mapping(indent int) (*yaml.Node, bool) {
	n := r.node(yaml.MappingNode, yaml.NodeTagMap, r.lines[r.next].number, indent+1)
	n.Content = make([]*yaml.Node, 0, 8)
	for {
		more, ok := r.more(indent)
		if !more || !ok {
			return n, ok
		}
		line := r.lines[r.next]
		name, rest, ok := cutKey(line.text)
		if !ok {
			return nil, false
		}
		r.next++
		key := r.node(yaml.ScalarNode, tagOf(name), line.number, indent+1)
		key.Value = name
		var value *yaml.Node
		switch {
		case rest != "":
			text := strings.TrimLeft(rest, " ")
			value, ok = r.value(text, line.number, indent+len(line.text)-len(text))
		case r.next == len(r.lines):
			return nil, false
		case r.lines[r.next].indent > indent:
			value, ok = r.collection(r.lines[r.next].indent)
		case r.lines[r.next].indent == indent && isItem(r.lines[r.next].text):
			value, ok = r.sequence(indent)
		default:
			return nil, false
		}
		if !ok {
			return nil, false
		}
		n.Content = append(n.Content, key, value)
	}
}

// cutKey returns the key that a line begins with, and what follows the colon: nothing, or a space and more.
func cutKey(text string) (key, rest string, ok bool) {
	const longest = 128
	for i := range min(len(text), longest) {
		switch c := text[i]; {
		case c == ':' && i > 0 && (i+1 == len(text) || text[i+1] == ' '):
			return text[:i], text[i+1:], true
		case !isWord(c) && (i == 0 || c != '-'):
			return "", "", false
		}
	}
	return "", "", false
}

// isWord tells of a character whether a plain scalar may begin with it.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '/' || c == '.'
}

// value reads a scalar, or a collection without anything in it, and the comment behind a scalar.
func (r *plainReader) value(text string, line, indent int) (*yaml.Node, bool) {
	n := r.node(yaml.ScalarNode, yaml.NodeTagString, line, indent+1)
	switch {
	case text == "{}":
		n.Kind, n.Tag, n.Style = yaml.MappingNode, yaml.NodeTagMap, yaml.FlowStyle
		return n, true
	case text == "[]":
		n.Kind, n.Tag, n.Style = yaml.SequenceNode, yaml.NodeTagSeq, yaml.FlowStyle
		return n, true
	case text[0] == '"' || text[0] == '\'':
		return n, quoted(n, text)
	case !isWord(text[0]) || strings.HasPrefix(text, "..."):
		return nil, false
	}
	n.Value = text
	if at := strings.Index(text, " #"); at >= 0 {
		n.Value, n.LineComment = strings.TrimRight(text[:at], " "), text[at+1:]
	}
	n.Tag = tagOf(n.Value)
	return n, !strings.Contains(n.Value, ": ") && n.Value[len(n.Value)-1] != ':'
}

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
	// What begins with another character is a string.
	if strings.IndexByte("+-0123456789yYnNtTfFoO~<.", text[0]) < 0 {
		return yaml.NodeTagString
	}
	n := yaml.Node{Kind: yaml.ScalarNode, Value: text}
	return n.ShortTag()
}
