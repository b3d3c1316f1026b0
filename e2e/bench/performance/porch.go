// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/bench/report"
)

// comparison is a comparison with Porch's function runner that was measured once and written by hand. Its numbers are not comparable with
// those of the reports.
type comparison struct {
	Date, Commit, Peer, Conditions string
	// Columns are the names of the programs. Each row has a name, and a cell for each program.
	Columns []string
	Rows    [][]string
}

// Table returns a table.
func (c comparison) Table() string {
	return table(append([]string{"calls of function pods"}, c.Columns...), c.Rows)
}

// picture writes an SVG picture.
type picture func(io.Writer) error

// drawPorch draws the p50 latencies at a constant rate: the first range of each cell of the first two rows.
func (m measured) drawPorch(w io.Writer) error {
	var bars []report.Bar
	for _, row := range m.Porch.Rows[:2] {
		function := strings.FieldsFunc(row[0], func(r rune) bool { return r == ',' || r == ' ' })[0]
		for i, cell := range row[1:] {
			bar := report.Bar{Colour: i}
			if _, err := fmt.Sscanf(cell, "%g-%g", &bar.Least, &bar.Most); err != nil {
				return fmt.Errorf("%q: %w", cell, err)
			}
			bar.Value = (bar.Least + bar.Most) / 2
			bar.Name = fmt.Sprintf("%s\n%g-%g ms\n%s", m.Porch.Columns[i], bar.Least, bar.Most, function)
			bars = append(bars, bar)
		}
	}
	return report.WriteBars(w, "Latency of a call, 10 calls a second: p50", "Milliseconds, and range of rounds", bars)
}

// drawCalls draws the p50 latencies at the constant rate.
func (m measured) drawCalls(w io.Writer) error {
	var bars []report.Bar
	for i, evaluator := range []string{executable, pod} {
		for _, kind := range measure.Names() {
			row, err := m.row(measure.AtRate(evaluator, kind, 50))
			if err != nil {
				return err
			}
			bar := report.Bar{Name: title(evaluator), Value: row.Value, Least: slices.Min(row.Rounds), Most: slices.Max(row.Rounds), Colour: i}
			if kind == bare {
				bar.Name, bar.Colour = "without krmfn", len(measure.Names())
			}
			bar.Name += "\n" + kind + "\n" + row.Text()
			bars = append(bars, bar)
		}
	}
	return report.WriteBars(w, fmt.Sprintf("Latency of a call, %d calls a second: p50", measure.Rate), "Milliseconds, and range of rounds", bars)
}
