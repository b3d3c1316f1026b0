// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/krmfn/krmfn/e2e/bench/calls"
	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/report"
)

// measured is the data of the templates.
type measured struct{ Local, Cluster *report.Report }

// functions returns the functions that templates can call.
func (m measured) functions() template.FuncMap {
	return template.FuncMap{
		"goals": m.goals, "facts": facts, "section": section, "bySize": bySize, "byCallers": byCallers,
		"measured": func(what string) (string, error) { return m.cell(what, 1) },
		"beside":   func(what string) (string, error) { return m.cell(what, 2) },
		"ratio":    func(what string) (string, error) { return m.cell(what, 3) },
	}
}

// cell returns a cell of the row with the given What.
func (m measured) cell(what string, number int) (string, error) {
	for _, r := range []*report.Report{m.Local, m.Cluster} {
		if row, ok := find(r, what); ok {
			return row.Cells()[number], nil
		}
	}
	return "", fmt.Errorf("no report has %q", what)
}

func find(r *report.Report, what string) (report.Row, bool) {
	i := slices.IndexFunc(r.Rows, func(row report.Row) bool { return row.What == what })
	if i < 0 {
		return report.Row{}, false
	}
	return r.Rows[i], true
}

// table returns a Markdown table.
func table(header []string, rows [][]string) string {
	var text strings.Builder
	line := func(cells []string) { fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	line(slices.Repeat([]string{"---"}, len(header)))
	for _, row := range rows {
		line(row)
	}
	return text.String()
}

// goals returns a table of all rows with a goal.
func (m measured) goals() string {
	var rows [][]string
	for _, r := range []*report.Report{m.Local, m.Cluster} {
		for _, row := range r.Rows {
			if row.Goal != nil {
				rows = append(rows, row.Cells())
			}
		}
	}
	return table(report.Header, rows)
}

// facts returns a table of a report's facts.
func facts(r *report.Report) string {
	rows := make([][]string, 0, len(r.Facts))
	for _, fact := range r.Facts {
		rows = append(rows, []string{fact.Name, fact.Value})
	}
	return table([]string{"", ""}, rows)
}

// section returns a table of the rows in a section.
func section(r *report.Report, name string) (string, error) {
	var rows [][]string
	for _, row := range r.Rows {
		if row.Section == name {
			rows = append(rows, row.Cells())
		}
	}
	if rows == nil {
		return "", fmt.Errorf("%q has no section %q", r.Title, name)
	}
	return table(report.Header, rows), nil
}

// bySize returns a table with a row for each kind and a column for each list size.
func bySize(r *report.Report, evaluator string) string {
	return matrix(r, function.Sizes, "resources", func(kind string, size int) string { return calls.BySize(evaluator, kind, size) })
}

// byCallers returns a table with a row for each kind and a column for each number of callers.
func byCallers(r *report.Report, evaluator string) string {
	return matrix(r, calls.Callers, "callers", func(kind string, callers int) string { return calls.ByCallers(evaluator, kind, callers) })
}

// matrix returns a table with a row for the bare process and each kind, and a column for each number. A cell holds the measured value and
// the ratio.
func matrix(r *report.Report, numbers []int, of string, what func(kind string, number int) string) string {
	header, bare := make([]string, 0, 1+len(numbers)), make([]string, 0, 1+len(numbers))
	header, bare = append(header, of), append(bare, function.BareProcess)
	for _, number := range numbers {
		header = append(header, strconv.Itoa(number))
		row, _ := find(r, what(function.Fresh.Name, number))
		bare = append(bare, row.Cells()[2])
	}
	rows := make([][]string, 0, 1+len(function.Kinds))
	rows = append(rows, bare)
	for _, kind := range function.Kinds {
		cells := []string{kind.Name}
		for _, number := range numbers {
			row, ok := find(r, what(kind.Name, number))
			if !ok {
				cells = append(cells, "-")
				continue
			}
			cells = append(cells, fmt.Sprintf("%s, × %s", row.Cells()[1], row.Cells()[3]))
		}
		rows = append(rows, cells)
	}
	return table(header, rows)
}
