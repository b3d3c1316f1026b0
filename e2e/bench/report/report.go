// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package report tells what a benchmark has measured: as a table, as JSON for pages, and as plots.
//
// Latencies are histograms of HdrHistogram, and gonum draws the plots. The table is made here: what compares benchmarks,
// benchstat above all, tells whether two runs of one thing differ, and knows neither what is measured beside it in the
// same run nor a goal for the distance from it. Load testers, vegeta for one, report on the calls that they make themselves,
// and cannot call a bare process.
package report

import (
	"fmt"
	"slices"
	"strconv"
)

// Report is what a run has measured.
type Report struct {
	// Title says what was measured.
	Title string
	// Facts are of the machine and the run, for whom compares it with another one.
	Facts []Fact
	// Rows are sorted by section; a What is there once.
	Rows []Row
	// Notes say what the table does not.
	Notes []string
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Row is one measurement.
type Row struct {
	// Section is the heading that it stands under.
	Section, What string
	Measured      float64
	// Beside is what it is compared with, measured in the same run; 0 for nothing.
	Beside float64
	// Unit is that of both.
	Unit string
	// Ratios are those of measured and beside in each round, where they took turns.
	Ratios []float64
	// Lost is how many calls failed or were not made, which are not in the numbers.
	Lost int64
	// Goal is what is to be reached; nil for nothing in particular.
	Goal *Goal
}

// Goal is a bound for something about a row.
type Goal struct {
	Of Of
	// AtLeast makes the bound the least that is to be reached; otherwise it is the most.
	AtLeast bool
	// Bound is in the row's unit; that of a ratio is a number.
	Bound float64
}

// Of is what a goal is for.
type Of string

const (
	// Measured is the measured value itself.
	Measured Of = ""
	// Ratio is its share of what is beside it.
	Ratio Of = "ratio"
	// Beyond is what it has more than what is beside it.
	Beyond Of = "beyond"
)

// Met tells whether a row has reached its goal. Without one it has.
func (r Row) Met() bool {
	switch {
	case r.Goal == nil:
		return true
	case r.Goal.AtLeast:
		return r.value() >= r.Goal.Bound
	}
	return r.value() <= r.Goal.Bound
}

// value is what the goal is for.
func (r Row) value() float64 {
	switch r.Goal.Of {
	case Ratio:
		return r.Ratio()
	case Beyond:
		return r.Measured - r.Beside
	}
	return r.Measured
}

// Ratio is the median of the rounds' ratios, or that of the two values where there were no rounds. It is 0 where the row has
// nothing beside it.
func (r Row) Ratio() float64 {
	switch {
	case len(r.Ratios) > 0:
		return Median(r.Ratios)
	case r.Beside > 0:
		return r.Measured / r.Beside
	}
	return 0
}

// Median returns the median of values. It panics if there are none.
func Median[T ~int64 | ~float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Header names the cells of a row.
var Header = []string{"what", "measured", "beside", "ratio", "rounds", "beyond", "goal", "met"}

// Cells is a row as text. What does not apply is a dash.
func (r Row) Cells() []string {
	cells := []string{r.What, r.text(r.Measured), "-", "-", "-", "-", r.goal(), r.verdict()}
	if r.Beside > 0 {
		cells[2], cells[3] = r.text(r.Beside), number(r.Ratio())
	}
	if len(r.Ratios) > 0 {
		cells[4] = number(slices.Min(r.Ratios)) + "-" + number(slices.Max(r.Ratios))
	}
	if r.Beside > 0 && r.Goal != nil && r.Goal.Of == Beyond {
		cells[5] = r.text(r.Measured - r.Beside)
	}
	return cells
}

func number(ratio float64) string {
	switch {
	case ratio < .1:
		return strconv.FormatFloat(ratio, 'f', 3, 64)
	case ratio >= 10:
		return strconv.FormatFloat(ratio, 'f', 1, 64)
	}
	return strconv.FormatFloat(ratio, 'f', 2, 64)
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

func (r Row) goal() string {
	if r.Goal == nil {
		return "-"
	}
	sign, bound := "≤", r.text(r.Goal.Bound)
	if r.Goal.AtLeast {
		sign = "≥"
	}
	if r.Goal.Of == Ratio {
		bound = number(r.Goal.Bound)
	}
	if r.Goal.Of == Measured {
		return sign + " " + bound
	}
	return fmt.Sprintf("%s %s %s", r.Goal.Of, sign, bound)
}

func (r Row) verdict() string {
	switch {
	case r.Goal == nil:
		return "-"
	case r.Met():
		return "yes"
	}
	return "no"
}
