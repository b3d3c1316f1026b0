// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package report tells what a benchmark has measured, as a table and as plots.
//
// Latencies are histograms of HdrHistogram, and gonum draws the plots. The table is made here: what compares benchmarks,
// benchstat above all, tells whether two runs of one thing differ, and knows neither a physical limit that is measured in the
// same run nor an aim for the distance from it. Load testers, vegeta for one, report on the calls that they make themselves,
// and cannot call a bare process.
package report

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// Report is what a run has measured.
type Report struct {
	// Title says what was measured.
	Title string
	// Facts are of the machine and the run, for whom compares it with another one.
	Facts []Fact
	Rows  []Row
	// Notes say what the table does not.
	Notes []string
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Row is one measurement.
type Row struct {
	What     string
	Measured float64
	// Limit is the physical limit, measured in the same run; 0 for none.
	Limit float64
	// Unit is that of both.
	Unit string
	// Aim is what is to be reached; nil for nothing in particular.
	Aim *Aim
}

// Aim is a bound for something about a row.
type Aim struct {
	Of Of
	// AtLeast makes the bound the least that is to be reached; otherwise it is the most.
	AtLeast bool
	// Bound is in the row's unit; that of a ratio is a number.
	Bound float64
}

// Of is what an aim is for.
type Of string

const (
	// Measured is the measured value itself.
	Measured Of = ""
	// Ratio is its quotient by the limit.
	Ratio Of = "ratio"
	// Beyond is what it has more than the limit.
	Beyond Of = "beyond"
)

// Reached tells whether a row is within its aim. Without one it is.
func (r Row) Reached() bool {
	switch {
	case r.Aim == nil:
		return true
	case r.Aim.AtLeast:
		return r.value() >= r.Aim.Bound
	}
	return r.value() <= r.Aim.Bound
}

// value is what the aim is for.
func (r Row) value() float64 {
	switch r.Aim.Of {
	case Ratio:
		return r.Measured / r.Limit
	case Beyond:
		return r.Measured - r.Limit
	}
	return r.Measured
}

// WriteText writes the report as plain text.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", r.Title)
	facts := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, fact := range r.Facts {
		fmt.Fprintf(facts, "%s\t%s\n", fact.Name, fact.Value)
	}
	if err := facts.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT\tMEASURED\tLIMIT\tRATIO\tBEYOND\tAIM\tREACHED")
	for _, row := range r.Rows {
		limit, ratio, beyond := "-", "-", "-"
		if row.Limit > 0 {
			limit = row.text(row.Limit)
			ratio = strconv.FormatFloat(row.Measured/row.Limit, 'f', 2, 64)
		}
		if row.Measured > row.Limit && row.Limit > 0 {
			beyond = row.text(row.Measured - row.Limit)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.What, row.text(row.Measured), limit, ratio, beyond, row.aim(), row.verdict())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, note := range r.Notes {
		if _, err := fmt.Fprintf(w, "- %s\n", note); err != nil {
			return err
		}
	}
	return nil
}

// text is a value with its unit, to three digits or all before the point.
func (r Row) text(value float64) string {
	decimals := 2
	switch size := max(value, -value); {
	case value == float64(int64(value)), size >= 100:
		decimals = 0
	case size >= 10:
		decimals = 1
	}
	return strconv.FormatFloat(value, 'f', decimals, 64) + " " + r.Unit
}

func (r Row) aim() string {
	if r.Aim == nil {
		return "-"
	}
	sign, bound := "≤", r.text(r.Aim.Bound)
	if r.Aim.AtLeast {
		sign = "≥"
	}
	if r.Aim.Of == Ratio {
		bound = strconv.FormatFloat(r.Aim.Bound, 'f', 2, 64)
	}
	if r.Aim.Of == Measured {
		return sign + " " + bound
	}
	return fmt.Sprintf("%s %s %s", r.Aim.Of, sign, bound)
}

func (r Row) verdict() string {
	switch {
	case r.Aim == nil:
		return "-"
	case r.Aim.Of == Beyond && r.Measured < r.Limit:
		// Nothing is below the physical limit, unless something disturbed the measurement of one of them.
		return "unclear"
	case r.Reached():
		return "yes"
	}
	return "no"
}
