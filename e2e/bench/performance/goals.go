// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/bench/report"
)

// goal is a bound for a row, or for its ratio to a baseline.
type goal struct {
	// row and baseline are names of rows. An empty baseline makes the bound absolute, in the row's unit.
	row, baseline string
	bound         float64
	// atLeast makes the bound a lower bound.
	atLeast bool
}

const (
	executable, pod = "executable", "pod"
	bare            = function.BareProcess
)

var standby, worker = function.Standby.Name, function.Worker.Name

var goals = []goal{
	{measure.BySize(executable, standby, 10), measure.BySize(executable, bare, 10), .4, false},
	{measure.AtRate(executable, standby, 50), measure.AtRate(executable, bare, 50), .4, false},
	{measure.BySize(executable, worker, 10), measure.BySize(executable, bare, 10), .07, false},
	{measure.AtRate(pod, standby, 50), measure.AtRate(pod, bare, 50), .4, false},
	{measure.AtRate(pod, standby, 99), measure.AtRate(pod, bare, 99), 1, false},
	{"pod, a call, all but the function: p50", "", 1.2, false},
	{measure.ByCallers(pod, standby, 8), measure.ByCallers(pod, bare, 8), 1, true},
	{measure.ByCallers(pod, worker, 8), measure.ByCallers(pod, bare, 8), 9, true},
	{measure.BySize(pod, standby, 5000), measure.BySize(pod, bare, 5000), 1, false},
	{"cold call, image-volume", "", .55, false},
	{"cold call, init-container", "", 1, false},
	{"function runner, heap and stacks per idle pool", "", 8, false},
	{"wrapper server, executable", "", 16, false},
	{"wrapper server, resident memory idle", "", 22, false},
	{"render, 10,000 ConfigMaps, krmfn: time", "render, 10,000 ConfigMaps, kpt: time", 1. / 45, false},
	{"render, 10,000 ConfigMaps, krmfn: memory", "", 250, false},
	{"render, web-shop, krmfn: CPU", "", .06, false},
	{"render, web-shop, krmfn: memory", "", 80, false},
	{"render, 65 packages, krmfn: time", "", 1, false},
}

// goalTable returns a table of the goals. A goal whose baseline is missing is not measured.
func (m measured) goalTable() (string, error) {
	lines := make([][]string, 0, len(goals))
	for _, g := range goals {
		row, err := m.row(g.row)
		if err != nil {
			return "", err
		}
		cell, err := m.cell(g.row)
		if err != nil {
			return "", err
		}
		line := []string{g.row, cell, "-", "-", g.text(row), "not measured"}
		value := row.Value
		if g.baseline != "" {
			baseline, err := m.row(g.baseline)
			if err != nil {
				lines = append(lines, line)
				continue
			}
			ratios := row.Ratios(baseline)
			value = report.Median(ratios)
			line[2], line[3] = baseline.Text(), report.Number(value)+spread(report.Row{Rounds: ratios})
		}
		line[5] = "no"
		if value == g.bound || (value > g.bound) == g.atLeast {
			line[5] = "yes"
		}
		lines = append(lines, line)
	}
	return table([]string{"what", "measured", "compared with", "ratio", "goal", "met"}, lines), nil
}

// text returns the bound.
func (g goal) text(row report.Row) string {
	sign, unit := "≤ ", " "+row.Unit
	if g.atLeast {
		sign = "≥ "
	}
	if g.baseline != "" {
		unit = ""
	}
	return sign + report.Number(g.bound) + unit
}
