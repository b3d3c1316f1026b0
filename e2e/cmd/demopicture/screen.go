// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// cell is one character on the screen. Its style is the class of it in the picture; "" for plain text.
type cell struct {
	char  rune
	style string
}

// line is a line of the screen.
type line []cell

func (l line) String() string {
	var b strings.Builder
	for _, c := range l {
		b.WriteRune(c.char)
	}
	return b.String()
}

// plain returns a line of plain text.
func plain(text string) line {
	l := make(line, 0, len(text))
	for _, char := range text {
		l = append(l, cell{char: char})
	}
	return l
}

// styles are the classes of what SGR sequences ask for.
var styles = map[string]string{"": "", "0": "", "1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "cyan"}

// screen is what a terminal shows that is as high as it must be, and as wide.
type screen struct {
	lines []line
	// column is where the next character goes, in the last line.
	column int
	style  string
}

// parse returns the lines that a terminal shows in the end. Errors name what such a simple terminal does not know.
func parse(output []byte) ([]line, error) {
	s := &screen{lines: []line{nil}}
	for text := string(output); text != ""; {
		char, size := utf8.DecodeRuneInString(text)
		rest := text[size:]
		switch {
		case char == '\x1b':
			var err error
			if rest, err = s.escape(rest); err != nil {
				return nil, err
			}
		case char == '\r':
			s.column = 0
		case char == '\n':
			s.lines = append(s.lines, nil)
		case char < ' ' || char == utf8.RuneError:
			return nil, fmt.Errorf("the output has the character %#U, which this terminal does not know", char)
		default:
			s.put(char)
		}
		text = rest
	}
	return s.lines, nil
}

func (s *screen) put(char rune) {
	last := &s.lines[len(s.lines)-1]
	for len(*last) <= s.column {
		*last = append(*last, cell{char: ' '})
	}
	(*last)[s.column] = cell{char, s.style}
	s.column++
}

// escape does what an escape sequence asks for, and returns what stands behind it. text begins behind the escape character.
func (s *screen) escape(text string) (rest string, err error) {
	end := strings.IndexFunc(text, func(r rune) bool { return r >= '@' && r != '[' })
	if !strings.HasPrefix(text, "[") || end < 0 {
		return "", fmt.Errorf("the output has the escape sequence %.20q, which this terminal does not know", text)
	}
	argument, rest := text[1:end], text[end+1:]
	style, known := styles[argument]
	switch {
	case text[end] == 'm' && known:
		s.style = style
	case text[end] == 'K' && argument == "":
		last := &s.lines[len(s.lines)-1]
		*last = (*last)[:min(s.column, len(*last))]
	default:
		return "", fmt.Errorf("the output has the escape sequence %q, which this terminal does not know", text[:end+1])
	}
	return rest, nil
}
