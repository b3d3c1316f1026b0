// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package report holds the results of a benchmark: as JSON, from which package performance writes pages, and as a table for a terminal.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"
)

// Report is the result of a run.
type Report struct {
	Title string
	// Facts describe the machine and the run.
	Facts []Fact
	Parts []Part
	Rows  []Row
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Part is a group of measurements.
type Part struct {
	Name string
	// Load is the load average over one minute before the part. It contains the load of the previous part.
	Load float64
	// Seconds is the duration of the part.
	Seconds float64
}

// Row is one measured value.
type Row struct {
	// Name is unique in all reports of a run.
	Name, Unit string
	// Value is the value over all rounds. Rounds holds the value of each round.
	Value  float64
	Rounds []float64
	// Calls is the number of successful calls in all rounds. Lost is the number of calls that failed or were not made; the values exclude
	// them.
	Calls, Lost int64 `json:",omitempty"`
}

// Samples returns a row whose value is the median of the rounds.
func Samples(name, unit string, rounds ...float64) Row {
	return Row{Name: name, Unit: unit, Value: Median(rounds), Rounds: rounds}
}

// Add adds rows.
func (r *Report) Add(rows ...Row) { r.Rows = append(r.Rows, rows...) }

// Median returns the median of values. It panics if values is empty.
func Median[T ~int64 | ~float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Number formats a number with three significant digits, or as an integer.
func Number(value float64) string {
	decimals := 0
	for size, limit := max(value, -value), 100.0; decimals < 3 && size < limit && value != float64(int64(value)); limit /= 10 {
		decimals++
	}
	return strconv.FormatFloat(value, 'f', decimals, 64)
}

// Text returns the value with its unit.
func (r Row) Text() string { return Number(r.Value) + " " + r.Unit }

// Spread returns the least and the greatest value of a round, or one number if they look the same.
func (r Row) Spread() string {
	least, most := Number(slices.Min(r.Rounds)), Number(slices.Max(r.Rounds))
	if least == most {
		return least
	}
	return least + "-" + most
}

// Ratios returns the ratio of two rows in each round.
func (r Row) Ratios(baseline Row) []float64 {
	ratios := make([]float64, min(len(r.Rounds), len(baseline.Rounds)))
	for i := range ratios {
		ratios[i] = r.Rounds[i] / baseline.Rounds[i]
	}
	return ratios
}

// WriteText writes the report as a table.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "\n%s\n\n", r.Title)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, fact := range r.Facts {
		fmt.Fprintf(table, "%s\t%s\n", fact.Name, fact.Value)
	}
	fmt.Fprint(table, "\npart\tload before\tduration\n")
	for _, part := range r.Parts {
		fmt.Fprintf(table, "%s\t%.2f\t%.0f s\n", part.Name, part.Load, part.Seconds)
	}
	fmt.Fprint(table, "\n\tvalue\trounds\tcalls\tlost\n")
	for _, row := range r.Rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\n", row.Name, row.Text(), row.Spread(), row.Calls, row.Lost)
	}
	return table.Flush()
}

// Write writes the report to a file as JSON.
func (r *Report) Write(file string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// Read reads a JSON file into a report, or another value.
func Read(checkout fs.FS, file string, into any) error {
	text, err := fs.ReadFile(checkout, file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

// Fact returns the value of a fact, or nothing.
func (r *Report) Fact(name string) string {
	for _, fact := range r.Facts {
		if fact.Name == name {
			return fact.Value
		}
	}
	return ""
}
