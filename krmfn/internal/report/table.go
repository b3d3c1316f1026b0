// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// Cell is a text and how it is coloured.
type Cell struct {
	// Text has no control characters.
	Text string
	// Paint colours the text; nil leaves it.
	Paint func(string) string
	// Fit cuts the text to a number of columns where the terminal has no room for all of it; nil leaves it.
	Fit func(text string, columns int) string
}

// Text returns a cell without colours. Control characters in the text are made harmless.
func Text(text string) Cell { return Cell{Text: terminal.Safe(text)} }

// gap is between columns.
const gap = "   "

// WriteTable writes rows below a heading of as many columns, aligned, and on a terminal as wide as that at most, if cells can be
// cut so far.
func WriteTable(out terminal.Stream, heading []string, rows [][]Cell) {
	first := make([]Cell, len(heading))
	for i, text := range heading {
		first[i] = Cell{Text: text, Paint: out.Style.Dim}
	}
	rows = append([][]Cell{first}, rows...)
	widths, least := make([]int, len(heading)), make([]int, len(heading))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], cell.columns())
			if cell.Fit == nil {
				least[i] = max(least[i], cell.columns())
			}
		}
	}
	if out.IsTerminal() {
		narrow(widths, least, out.Width()-len(gap)*(len(widths)-1))
	}
	for _, row := range rows {
		fmt.Fprintln(out, line(row, widths))
	}
}

func (c Cell) columns() int { return utf8.RuneCountInString(c.Text) }

// narrow makes the widest column narrower until all have room, or each has its least width. So one long text does not take
// the room of those that are short.
func narrow(widths, least []int, room int) {
	over := -room
	for _, width := range widths {
		over += width
	}
	for ; over > 0; over-- {
		widest := -1
		for i, width := range widths {
			if width > least[i] && (widest < 0 || width > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

func line(row []Cell, widths []int) string {
	var b strings.Builder
	pending := ""
	for i, cell := range row {
		if cell.Fit != nil && cell.columns() > widths[i] {
			cell.Text = cell.Fit(cell.Text, widths[i])
		}
		if cell.Text != "" {
			text := cell.Text
			if cell.Paint != nil {
				text = cell.Paint(text)
			}
			b.WriteString(pending + text)
			pending = ""
		}
		// Spaces go out only before text, so that no line ends in them.
		pending += strings.Repeat(" ", widths[i]-cell.columns()) + gap
	}
	return b.String()
}
