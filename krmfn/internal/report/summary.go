// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/krmfn/krmfn/krmfn/internal/progress"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Summary writes a table of the functions: which package each is of where there are several, what ran it, how long it took,
// and what it had to say. On a terminal, what is too long for its width is cut, other than the time and the results.
func Summary(out terminal.Stream, functions []renderstatus.Function) {
	if len(functions) == 0 {
		return
	}
	heading := []string{"FUNCTION", "RAN BY", "TIME", "RESULTS"}
	several := slices.ContainsFunc(functions, func(f renderstatus.Function) bool { return f.Package != functions[0].Package })
	if several {
		heading = append([]string{"PACKAGE"}, heading...)
	}
	rows := make([][]Cell, 0, len(functions))
	for i := range functions {
		f := &functions[i]
		took := "-"
		if f.Ran {
			took = progress.Duration(time.Duration(f.Duration))
		}
		title, ran := Text(progress.ShortImage(f.Title())), Text(ranBy(f))
		title.Fit, ran.Fit = progress.FitTitle(f), terminal.Fit
		row := []Cell{title, ran, Text(took), outcome(out.Style, f)}
		if several {
			dir := Text(f.Package)
			dir.Fit = terminal.FitMiddle
			row = append([]Cell{dir}, row...)
		}
		rows = append(rows, row)
	}
	WriteTable(out, heading, rows)
}

// ranBy names the evaluator and what it ran. A runner that speaks only Porch's contract tells neither.
func ranBy(f *renderstatus.Function) string {
	return cmp.Or(strings.TrimSpace(f.Evaluator+" "+f.Implementation), "-")
}

// outcome counts the results of a function by severity, in the colour of the worst.
func outcome(style terminal.Style, f *renderstatus.Function) Cell {
	var errors, warnings int
	for _, r := range f.Results {
		switch r.Severity {
		case "error":
			errors++
		case "warning":
			warnings++
		}
	}
	var parts []string
	if errors > 0 {
		parts = append(parts, terminal.Count(errors, "error"))
	}
	if warnings > 0 {
		parts = append(parts, terminal.Count(warnings, "warning"))
	}
	if infos := len(f.Results) - errors - warnings; infos > 0 {
		parts = append(parts, fmt.Sprintf("%d info", infos))
	}
	cell := Cell{Text: strings.Join(parts, ", ")}
	switch {
	case f.Error != "":
		cell.Text, cell.Paint = strings.TrimSuffix("failed: "+cell.Text, ": "), style.Red
	case errors > 0:
		cell.Paint = style.Red
	case warnings > 0:
		cell.Paint = style.Yellow
	}
	return cell
}

// Changes words what happens to the files of a package: "9 files changed: 7 modified, 1 added, 1 deleted".
func Changes(changes []packages.Change) string {
	if len(changes) == 0 {
		return "no files changed"
	}
	n := map[string]int{}
	for _, c := range changes {
		n[kindOf(c)]++
	}
	var parts []string
	for _, kind := range []string{modified, added, deleted} {
		if n[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[kind], kind))
		}
	}
	return fmt.Sprintf("%s changed: %s", terminal.Count(len(changes), "file"), strings.Join(parts, ", "))
}
