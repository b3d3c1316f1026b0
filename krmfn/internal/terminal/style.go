// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style colours text, or leaves it as it is.
type Style struct{ on bool }

// ClearLine returns the cursor to the beginning of its line and empties the line.
const ClearLine = "\r\x1b[K"

// paint colours text by a code of ECMA-48, which every terminal knows; the colours are the terminal's own.
func (s Style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is for headings.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim is for what matters least.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red is for errors, and for what is deleted.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green is for success, and for what is added.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow is for warnings.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Cyan is for places.
func (s Style) Cyan(text string) string { return s.paint("36", text) }

// Severity colours text by the severity of a function's result: error, warning, or anything else.
func (s Style) Severity(severity, text string) string {
	switch severity {
	case "error":
		return s.Red(text)
	case "warning":
		return s.Yellow(text)
	default:
		return s.Cyan(text)
	}
}

// Count returns how many of a noun there are: 1 file, 2 files.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Safe returns text without control characters other than tabs, and without those that change the direction of text. What a
// function says must not move the cursor, rename the window or show text in another order than it has.
func Safe(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// OneLine makes text of several lines one, without control characters. A line that does not end in a colon or a full stop
// is set apart from the next by a comma.
func OneLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case b.Len() == 0:
		case strings.HasSuffix(b.String(), ":"), strings.HasSuffix(b.String(), "."):
			b.WriteString(" ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(line)
	}
	return Safe(b.String())
}

// Fit cuts text to a number of columns, and marks that it did. Text must have no colours.
func Fit(text string, columns int) string {
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	if columns <= 0 {
		return ""
	}
	return string([]rune(text)[:columns-1]) + "…"
}

// FitMiddle is Fit for text whose end tells as much as its beginning: it cuts the middle out.
func FitMiddle(text string, columns int) string {
	runes := []rune(text)
	if columns <= 0 || len(runes) <= columns {
		return Fit(text, columns)
	}
	head := columns / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(columns-1-head):])
}
