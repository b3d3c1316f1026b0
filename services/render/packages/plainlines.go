// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"
)

// plainLines holds the lines of a document and the position of its reader.
type plainLines struct {
	lines []plainLine
	next  int
	// fields is an upper estimate of the lines with content, items of those that start a sequence item. They size the block of
	// nodes.
	fields, items int
	// marked is set if the document begins with "---", ended if its last line has a line end.
	marked, ended bool
	// comment is the comment directly above the next line, commentIndent its indentation.
	comment       string
	commentIndent int
}

// plainLine is a line without its indentation and line end.
type plainLine struct {
	text string
	// indent is the number of leading spaces. number is the line number, starting at 1.
	indent, number int
	// nonASCII is set if text contains characters other than printable ASCII.
	nonASCII bool
}

// split fills lines. It skips "---" in the first line. It returns false if the document is not supported.
func (l *plainLines) split(text string) bool {
	*l = plainLines{lines: l.lines[:0], ended: strings.HasSuffix(text, "\n")}
	number, literal := 0, -1
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if number == 1 && line == "---" {
			l.marked = true
			continue
		}
		nonASCII, ok := readable(line)
		if !ok {
			return false
		}
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		l.lines = append(l.lines, plainLine{text, indent, number, nonASCII})
		if text == "" || text[0] == '#' || literal >= 0 && indent > literal {
			continue
		}
		l.fields++
		if isItem(text) {
			l.items++
		}
		if literal = -1; strings.Contains(text, "|") {
			literal = indent
		}
	}
	return true
}

// readable reports in nonASCII whether a line contains characters other than printable ASCII. ok is false if a character is a line
// break in YAML or invalid.
func readable(line string) (nonASCII, ok bool) {
	for i := range len(line) {
		nonASCII = nonASCII || line[i] < ' ' || line[i] > '~'
	}
	if !nonASCII {
		return false, true
	}
	for _, r := range line {
		switch {
		case r >= ' ' && r <= '~', r == '\t', r >= 0xa0 && r <= 0xd7ff && r != '\u2028' && r != '\u2029':
		default:
			return true, false
		}
	}
	return true, true
}

// head moves to the first line with content. It returns the comments that a blank line separates from it: they are the
// document's head comment. After "---", such comments belong to the first key instead.
func (l *plainLines) head() (comments string, ok bool) {
	for !l.marked && l.next < len(l.lines) {
		begin := l.next
		for l.next < len(l.lines) && l.lines[l.next].isComment() {
			l.next++
		}
		if l.next == len(l.lines) || l.lines[l.next].text != "" {
			l.next = begin
			break
		}
		between := "\n\n"
		for _, line := range l.lines[begin:l.next] {
			if line.indent > 0 || strings.HasSuffix(line.text, " ") {
				return "", false
			}
			if comments != "" {
				comments += between
			}
			comments += line.text
			between = "\n"
		}
		l.next++
	}
	return comments, l.skip()
}

func (l *plainLine) isComment() bool { return l.text != "" && l.text[0] == '#' }

// skip moves to the next line with content, past blank lines and a comment directly above it. It returns false for other
// comments, because the decoder attaches those to earlier nodes or to several.
func (l *plainLines) skip() bool {
	for ; l.next < len(l.lines); l.next++ {
		line := &l.lines[l.next]
		switch {
		case line.text == "":
			if line.indent > 0 || l.comment != "" {
				return false
			}
			continue
		case line.text[len(line.text)-1] == ' ':
			return false
		case line.isComment():
		default:
			return !line.nonASCII
		}
		switch {
		case l.comment == "":
			l.comment, l.commentIndent = line.text, line.indent
		case l.commentIndent == line.indent:
			l.comment += "\n" + line.text
		default:
			return false
		}
	}
	return l.comment == ""
}

// above returns the comment above the current line and resets it. ok is false if the comment's indentation differs from indent.
func (l *plainLines) above(indent int) (comment string, ok bool) {
	comment, l.comment = l.comment, ""
	return comment, comment == "" || l.commentIndent == indent
}
