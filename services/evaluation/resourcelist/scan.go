// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resourcelist

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// Parsing a ResourceList into nodes costs about as much as a small function takes to run, and it happens on every call.
// The scanner recognises the plain block style that YAML printers write, at about the speed of reading it. It is strict
// the safe way: whatever it does not recognise with certainty is left to the parser, and whatever it accepts, the parser
// accepts (a fuzz test holds it to that).

// outline is what the scanner finds out about a document.
type outline struct {
	kind string
	// start and end bound the lines of the results; both are 0 without results.
	start, end int
}

func (o outline) results(doc []byte) ([]*evaluationv1.Result, error) {
	if o.start == o.end {
		return nil, nil
	}
	var part yaml.Node
	if err := yaml.Unmarshal(doc[o.start:o.end], &part); err != nil {
		return nil, fmt.Errorf("the output's results are not YAML: %w", err)
	}
	return readResults(yamlnode.Lookup(part.Content[0], "results"))
}

// level is a block collection that is open at a line.
type level struct {
	indent int
	list   bool
}

type scanner struct {
	outline
	doc    []byte
	next   int
	levels []level
	// open says that the line before was a key without a value, so that a collection may begin below it.
	open bool
	// top is the latest key of the document's own mapping.
	top  string
	seen map[string]struct{}
}

// scan returns the outline of a document, or false where it is not certain about one.
func scan(doc []byte) (outline, bool) {
	if !printable(doc) {
		return outline{}, false
	}
	s := scanner{doc: doc, levels: make([]level, 1, 16), seen: make(map[string]struct{}, 8)}
	for s.next < len(doc) {
		start := s.next
		line := s.line()
		content := trimSpaces(line)
		if len(content) == 0 || content[0] == '#' {
			continue
		}
		if !s.place(len(line)-len(content), content, start) {
			return outline{}, false
		}
	}
	if s.start > 0 && s.end == 0 {
		s.end = len(doc)
	}
	return s.outline, s.top != ""
}

// skim returns the outline of a document by its lines that begin with a key, whatever is between them.
func skim(doc []byte) (o outline) {
	kindStart, kindEnd := 0, 0
	var end *int // of the latest key, if its value counts
	for s := (scanner{doc: doc}); s.next < len(doc); {
		start := s.next
		key, _, ok := cutKey(s.line())
		if !ok || len(key) == 0 {
			continue
		}
		if end != nil {
			*end, end = start, nil
		}
		switch string(key) {
		case "kind":
			kindStart, end = start, &kindEnd
		case "results":
			o.start, end = start, &o.end
		}
	}
	if end != nil {
		*end = len(doc)
	}
	var kind yaml.Node
	if yaml.Unmarshal(doc[kindStart:max(kindStart, kindEnd)], &kind) == nil {
		o.kind = yamlnode.Text(yamlnode.Lookup(&kind, "kind"))
	}
	return o
}

// line returns the next line without its end.
func (s *scanner) line() []byte {
	rest := s.doc[s.next:]
	n := bytes.IndexByte(rest, '\n')
	if n < 0 {
		s.next = len(s.doc)
		return rest
	}
	s.next += n + 1
	return rest[:n]
}

// place finds the collection that a line belongs to and takes in its content.
func (s *scanner) place(indent int, content []byte, start int) bool {
	dash := isDash(content)
	if parent := s.levels[len(s.levels)-1]; s.open && (indent > parent.indent || (dash && indent == parent.indent && !parent.list)) {
		s.levels = append(s.levels, level{indent: indent, list: dash})
	}
	s.open = false
	for len(s.levels) > 1 && s.levels[len(s.levels)-1].indent > indent {
		s.levels = s.levels[:len(s.levels)-1]
	}
	// A list may stand at the indentation of the key that it belongs to; the next key ends it.
	if top := s.levels[len(s.levels)-1]; top.list && !dash && top.indent == indent && len(s.levels) > 1 {
		s.levels = s.levels[:len(s.levels)-1]
	}
	if at := s.levels[len(s.levels)-1]; at.indent != indent || at.list != dash {
		return false
	}
	if len(s.levels) == 2 && s.top == "items" && !dash {
		return false
	}
	for dash {
		// The content after the dash is a collection of its own, two columns further in.
		content, indent = content[2:], indent+2
		if len(content) == 0 || content[0] == ' ' {
			return false
		}
		if dash = isDash(content); dash {
			if len(s.levels) == 2 && s.top == "items" {
				return false
			}
			s.levels = append(s.levels, level{indent: indent, list: true})
			continue
		}
		key, _, ok := cutKey(content)
		if !ok || len(key) == 0 {
			return (len(s.levels) > 2 || s.top != "items") && s.scalar(content, false)
		}
		s.levels = append(s.levels, level{indent: indent})
	}
	return s.entry(content, start)
}

// entry takes in a key and what stands behind it.
func (s *scanner) entry(content []byte, start int) bool {
	key, value, ok := cutKey(content)
	if !ok || len(key) == 0 {
		return false
	}
	if len(s.levels) > 1 {
		return s.scalar(value, true)
	}
	if s.top == "results" {
		s.end = start
	}
	s.top = string(key)
	if _, twice := s.seen[s.top]; twice {
		return false
	}
	s.seen[s.top] = struct{}{}
	switch s.top {
	case "kind":
		s.kind = string(plain(value))
		return s.kind != "" && !strings.ContainsAny(s.kind[:1], `'"[{|>`) && s.scalar(value, true) && !s.open
	case "items":
		return s.scalar(value, true) && (s.open || string(plain(value)) == "[]")
	case "results":
		// Position 0 stands for no results, and a document that begins with them is rare enough to leave to the parser.
		s.start = start
		return start > 0 && s.scalar(value, true)
	}
	return s.scalar(value, true)
}
