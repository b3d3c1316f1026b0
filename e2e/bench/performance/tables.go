// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/bench/report"
)

// measured holds the reports.
type measured struct {
	Local, Cluster report.Report
	Porch          comparison
}

// functions returns the functions that templates can call.
func (m measured) functions() template.FuncMap {
	return template.FuncMap{
		"local":         func() *report.Report { return &m.Local },
		"cluster":       func() *report.Report { return &m.Cluster },
		"porch":         func() comparison { return m.Porch },
		"row":           m.row,
		"has":           func(name string) bool { _, err := m.row(name); return err == nil },
		"cell":          m.cell,
		"facts":         facts,
		"parts":         m.parts,
		"atRate":        m.atRate,
		"bySize":        m.bySize,
		"byCallers":     m.byCallers,
		"cpu":           m.cpu,
		"processMemory": m.processMemory,
		"perMiB":        m.perMiB,
		"goals":         m.goalTable,
	}
}

// row returns the row of any report with the given name.
func (m measured) row(name string) (report.Row, error) {
	for _, row := range slices.Concat(m.Local.Rows, m.Cluster.Rows) {
		if row.Name == name {
			return row, nil
		}
	}
	return report.Row{}, fmt.Errorf("no report has %q", name)
}

// cell returns the value of a row and its range.
func (m measured) cell(name string) (string, error) {
	row, err := m.row(name)
	if err != nil {
		return "", err
	}
	return row.Text() + spread(row), nil
}

// spread returns the range of a row's rounds in parentheses, or "" for a single round.
func spread(row report.Row) string {
	if len(row.Rounds) == 1 {
		return ""
	}
	return " (" + row.Spread() + ")"
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

// facts returns a table of a report's facts.
func facts(r *report.Report) string {
	rows := make([][]string, 0, len(r.Facts))
	for _, fact := range r.Facts {
		rows = append(rows, []string{fact.Name, fact.Value})
	}
	return table([]string{"", ""}, rows)
}

// parts returns a table of the parts of both reports, and the number of calls that failed.
func (m measured) parts() string {
	rows := make([][]string, 0, len(m.Local.Parts)+len(m.Cluster.Parts))
	for _, part := range slices.Concat(m.Local.Parts, m.Cluster.Parts) {
		rows = append(rows, []string{part.Name, strconv.FormatFloat(part.Load, 'f', 2, 64), fmt.Sprintf("%.0f s", part.Seconds)})
	}
	var made, lost int64
	for _, row := range slices.Concat(m.Local.Rows, m.Cluster.Rows) {
		// The rows of p50 and p99 are of the same calls.
		if !strings.HasSuffix(row.Name, ": p99") {
			made, lost = made+row.Calls+row.Lost, lost+row.Lost
		}
	}
	return table([]string{"part", "load average before", "duration"}, rows) + fmt.Sprintf("\nOf %d calls, %d failed.\n", made, lost)
}

// column is a column of a table: a heading, and the name of the row that holds the value for a kind.
type column struct {
	heading string
	name    func(kind string) string
}

// matrix returns a table with a line for the bare process and each kind. Below it are the least and the greatest number of calls of a cell.
func (m measured) matrix(title string, columns ...column) (string, error) {
	header := make([]string, 1, 1+len(columns))
	header[0] = title
	for _, c := range columns {
		header = append(header, c.heading)
	}
	lines := make([][]string, 0, len(measure.Names()))
	var counts []int64
	for _, kind := range measure.Names() {
		line := []string{kind}
		for _, c := range columns {
			row, err := m.row(c.name(kind))
			if err != nil {
				return "", err
			}
			line, counts = append(line, report.Number(row.Value)+spread(row)), append(counts, row.Calls)
		}
		lines = append(lines, line)
	}
	number := strconv.FormatInt(slices.Min(counts), 10)
	if most := slices.Max(counts); most > slices.Min(counts) {
		number += " to " + strconv.FormatInt(most, 10)
	}
	return table(header, lines) + "\nCalls for each value: " + number + ".\n", nil
}

// atRate returns a table of latencies at the constant rate.
func (m measured) atRate() (string, error) {
	latency := func(evaluator string, percentile int) column {
		name := func(kind string) string { return measure.AtRate(evaluator, kind, percentile) }
		return column{fmt.Sprintf("%s: p%d", title(evaluator), percentile), name}
	}
	return m.matrix("milliseconds", latency(executable, 50), latency(executable, 99), latency(pod, 50), latency(pod, 99))
}

// title returns the name of an evaluator for a table.
func title(evaluator string) string {
	if evaluator == pod {
		return "function pod"
	}
	return evaluator
}

// bySize returns a table of latencies by the size of the list.
func (m measured) bySize(evaluator string) (string, error) {
	return m.byNumber(evaluator, "milliseconds", function.Sizes, "resources", measure.BySize)
}

// byCallers returns a table of throughputs by the number of callers.
func (m measured) byCallers(evaluator string) (string, error) {
	return m.byNumber(evaluator, "calls/s", measure.Callers, "callers", measure.ByCallers)
}

func (m measured) byNumber(evaluator, unit string, numbers []int, of string, name func(evaluator, kind string, number int) string) (string, error) {
	columns := make([]column, len(numbers))
	for i, number := range numbers {
		columns[i] = column{fmt.Sprintf("%d %s", number, of), func(kind string) string { return name(evaluator, kind, number) }}
	}
	return m.matrix(title(evaluator)+", "+unit, columns...)
}

// cpu returns the CPU time of a call in milliseconds: the processors, divided by the throughput of 8 callers, which keep them busy.
func (m measured) cpu(evaluator, kind string) (string, error) {
	row, err := m.row(measure.ByCallers(evaluator, kind, 8))
	if err != nil {
		return "", err
	}
	var processors float64
	if _, err := fmt.Sscan(m.Local.Fact("processors"), &processors); err != nil {
		return "", fmt.Errorf("processors: %w", err)
	}
	return report.Number(1000*processors/row.Value) + " ms", nil
}

// processMemory returns a table of the peak memory of functions' processes. Under limits, it is in brackets.
func (m measured) processMemory() (string, error) {
	header := []string{"function"}
	for _, size := range function.MemorySizes {
		if size == 0 {
			header = append(header, "a few resources")
			continue
		}
		header = append(header, fmt.Sprintf("%d MiB", size))
	}
	lines := make([][]string, 0, len(function.Memory))
	for _, f := range function.Memory {
		line := []string{"`" + f.Name + "`"}
		for _, size := range function.MemorySizes {
			free, err := m.row(function.MemoryRow(f.Name, size, false))
			if err != nil {
				return "", err
			}
			limited, err := m.row(function.MemoryRow(f.Name, size, true))
			if err != nil {
				return "", err
			}
			line = append(line, fmt.Sprintf("%.0f MiB (%.0f)", free.Value, limited.Value))
		}
		lines = append(lines, line)
	}
	return table(header, lines), nil
}

// perMiB returns the least and the greatest memory of a function's process under limits, for each MiB of a list of 6 MiB.
func (m measured) perMiB() (string, error) {
	var all []float64
	for _, f := range function.Memory {
		row, err := m.row(function.MemoryRow(f.Name, 6, true))
		if err != nil {
			return "", err
		}
		all = append(all, row.Value/6)
	}
	return fmt.Sprintf("%.0f to %.0f MiB", slices.Min(all), slices.Max(all)), nil
}
