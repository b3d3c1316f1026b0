// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// Table has a heading and rows of as many cells.
type Table struct {
	heading []string
	rows    [][]Cell
}

// Cell is a text and how it is coloured.
type Cell struct {
	// Text has no control characters.
	Text string
	// Paint colours the text; nil leaves it.
	Paint func(string) string
}

// Text returns a cell without colours. Control characters in the text are made harmless.
func Text(text string) Cell { return Cell{Text: terminal.Safe(text)} }

// NewTable returns a table without rows.
func NewTable(heading ...string) *Table { return &Table{heading: heading} }

// Add adds a row.
func (t *Table) Add(cells ...Cell) { t.rows = append(t.rows, cells) }

// gap is between columns.
const gap = "   "

// Write writes the table with its columns aligned.
func (t *Table) Write(out terminal.Stream) {
	heading := make([]Cell, len(t.heading))
	for i, text := range t.heading {
		heading[i] = Cell{Text: text, Paint: out.Style.Dim}
	}
	rows := append([][]Cell{heading}, t.rows...)
	widths := make([]int, len(t.heading))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	for _, row := range rows {
		fmt.Fprintln(out, line(row, widths))
	}
}

func line(row []Cell, widths []int) string {
	var b strings.Builder
	pending := ""
	for i, cell := range row {
		if cell.Text != "" {
			text := cell.Text
			if cell.Paint != nil {
				text = cell.Paint(text)
			}
			b.WriteString(pending + text)
			pending = ""
		}
		// Spaces go out only before text, so that no line ends in them.
		pending += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text)) + gap
	}
	return b.String()
}
