// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"
)

// plainLines are the lines of a document and where its reader is: at a line that says something, or at the end.
type plainLines struct {
	lines []plainLine
	next  int
	// fields is about how many lines say something, items how many of them begin items of sequences.
	fields, items int
	// marked says that the document begins with "---", ended that the last line does end.
	marked, ended bool
	// comment is what stands directly above the next line, with this indentation.
	comment       string
	commentIndent int
}

// plainLine is a line without its indentation and its end.
type plainLine struct {
	text string
	// indent is where the text begins, number the line's, from 1.
	indent, number int
	// odd says that the text has more than printable ASCII.
	odd bool
}

// split finds the lines. The first may begin the document.
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
		odd, ok := readable(line)
		if !ok {
			return false
		}
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		l.lines = append(l.lines, plainLine{text, indent, number, odd})
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

// readable tells whether a line has only characters that the decoder takes and that end no line, and whether it has more than
// printable ASCII.
func readable(line string) (odd, ok bool) {
	for i := range len(line) {
		odd = odd || line[i] < ' ' || line[i] > '~'
	}
	if !odd {
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

// head goes to the first line that says something. It returns the comments that a blank line keeps from it: those are the
// document's, unless that has begun already.
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

// skip goes to the next line that says something, over blank ones and a comment directly above it. Other comments belong to what
// was before, or to several.
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
			return !line.odd
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

// above returns the comment above the line, which has to begin where that does.
func (l *plainLines) above(indent int) (comment string, ok bool) {
	comment, l.comment = l.comment, ""
	return comment, comment == "" || l.commentIndent == indent
}
