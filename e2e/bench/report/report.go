// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package report presents the results of a benchmark as a table, as JSON for pages, and as plots.
//
// Latencies are HdrHistogram histograms, and gonum draws the plots. The package writes the table itself, because existing tools do not fit.
// Comparison tools such as benchstat tell whether two runs of one benchmark differ, but support neither a baseline in the same run nor
// goals relative to it. Load testers such as vegeta report only on calls that they make themselves, and cannot run a bare process.
package report

import (
	"fmt"
	"slices"
	"strconv"
)

// Report is the result of a run.
type Report struct {
	// Title says what was measured.
	Title string
	// Facts describe the machine and the run, for comparison with other runs.
	Facts []Fact
	// Rows are grouped by section. Each What is unique.
	Rows []Row
	// Notes explain the table.
	Notes []string
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Row is one measurement.
type Row struct {
	// Section is the heading of the row. What names the row.
	Section, What string
	Measured      float64
	// Beside is the value of the baseline in the same run; 0 without a baseline.
	Beside float64
	// Unit is the unit of Measured and Beside.
	Unit string
	// Ratios holds the ratio of measured to beside in each round; empty if the measurement had no rounds.
	Ratios []float64
	// Lost is the number of calls that failed or were not made. The measured values exclude them.
	Lost int64
	// Goal is optional.
	Goal *Goal
}

// Goal is a bound for a value of a row.
type Goal struct {
	Of Of
	// AtLeast makes Bound a lower bound. The default is an upper bound.
	AtLeast bool
	// Bound is in the row's unit, or a plain number if the goal is for the ratio.
	Bound float64
}

// Of selects the value that a goal applies to.
type Of string

const (
	// Measured selects the measured value.
	Measured Of = ""
	// Ratio selects the ratio of the measured value to the baseline.
	Ratio Of = "ratio"
	// Beyond selects the difference between the measured value and the baseline.
	Beyond Of = "beyond"
)

// Met reports whether a row meets its goal. A row without a goal does.
func (r Row) Met() bool {
	switch {
	case r.Goal == nil:
		return true
	case r.Goal.AtLeast:
		return r.value() >= r.Goal.Bound
	}
	return r.value() <= r.Goal.Bound
}

// value returns the value that the goal applies to.
func (r Row) value() float64 {
	switch r.Goal.Of {
	case Ratio:
		return r.Ratio()
	case Beyond:
		return r.Measured - r.Beside
	}
	return r.Measured
}

// Ratio returns the median of the rounds' ratios, or the ratio of the two values if there were no rounds. It returns 0 for a row without a
// baseline.
func (r Row) Ratio() float64 {
	switch {
	case len(r.Ratios) > 0:
		return Median(r.Ratios)
	case r.Beside > 0:
		return r.Measured / r.Beside
	}
	return 0
}

// Median returns the median of values. It panics if values is empty.
func Median[T ~int64 | ~float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Header holds the column names of the table.
var Header = []string{"what", "measured", "beside", "ratio", "rounds", "beyond", "goal", "met"}

// Cells returns the cells of a row as text. Values that do not apply are "-".
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

// text formats a value with its unit, with three significant digits or as an integer.
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
