// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resourcelist

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/krmfn/krmfn/internal/yamlnode"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// Parsing a ResourceList into nodes takes about as long as running a small function, and is needed on each call. The scanner recognises
// the block style that YAML printers write, about as fast as reading the document. If it does not recognise a document, the parser is
// used. It never accepts a document that the parser rejects; FuzzScan checks that.

// outline is the scanner's result.
type outline struct {
	kind string
	// start and end are the offsets of the results. Both are 0 if there are none.
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

// level is an open block collection.
type level struct {
	indent int
	list   bool
}

type scanner struct {
	outline
	doc    []byte
	next   int
	levels []level
	// open means that the previous line was a key without a value, so a collection may follow.
	open bool
	// top is the latest key of the top-level mapping.
	top  string
	seen map[string]struct{}
}

// scan returns the outline of a document, or false if it does not recognise the document.
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

// skim returns the outline of a document. It only looks at lines that begin with a key, and ignores the lines in between.
func skim(doc []byte) (o outline) {
	kindStart, kindEnd := 0, 0
	var end *int // the end of the latest key's value, if the key is kind or results
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

// line consumes the next line and returns it without the line break.
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

// place finds the collection that a line belongs to and consumes its content.
func (s *scanner) place(indent int, content []byte, start int) bool {
	dash := isDash(content)
	if parent := s.levels[len(s.levels)-1]; s.open && (indent > parent.indent || (dash && indent == parent.indent && !parent.list)) {
		s.levels = append(s.levels, level{indent: indent, list: dash})
	}
	s.open = false
	for len(s.levels) > 1 && s.levels[len(s.levels)-1].indent > indent {
		s.levels = s.levels[:len(s.levels)-1]
	}
	// A sequence may have the same indentation as its key. The next key ends it.
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
		// The content after the dash is a nested collection, indented by two columns.
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

// entry consumes a key and its value.
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
		// Offset 0 means no results. Documents that begin with results are rare, so leave them to the parser.
		s.start = start
		return start > 0 && s.scalar(value, true)
	}
	return s.scalar(value, true)
}
