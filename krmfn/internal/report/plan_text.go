// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/krmfn/krmfn/krmfn/internal/progress"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/krmfn/internal/tree"
	"github.com/krmfn/krmfn/services/render"
)

// WritePlan writes a plan: on a terminal as a tree of the packages, elsewhere as lines in the order in which things would happen.
func WritePlan(out terminal.Stream, plan Plan) error {
	if !out.IsTerminal() {
		return writePlanLines(out, plan)
	}
	directories := make([]tree.Directory, 0, len(plan.Packages))
	for _, p := range plan.Packages {
		name := p.Name
		if p.Package != "." {
			name = path.Base(p.Name)
		}
		lines := []string{out.Style.Bold(terminal.Safe(name))}
		for _, f := range p.functions() {
			lines = append(lines, f.pretty(out.Style)...)
		}
		directories = append(directories, tree.Directory{Path: p.Package, Lines: lines})
	}
	_, err := io.WriteString(out, tree.Draw(directories, out.Style.Dim))
	return err
}

func writePlanLines(out io.Writer, plan Plan) error {
	for _, p := range plan.Packages {
		lines := []string{fmt.Sprintf("package %q", p.Name)}
		for _, f := range p.functions() {
			lines = append(lines, "  "+f.heading(f.title()))
			for _, d := range f.details() {
				lines = append(lines, "    "+d)
			}
		}
		if _, err := fmt.Fprintln(out, strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// step is a function of a plan, as it is shown.
type step struct {
	PlannedFunction
	kind string
}

func (p PlannedPackage) functions() []step {
	steps := make([]step, 0, len(p.Mutators)+len(p.Validators))
	for _, f := range p.Mutators {
		steps = append(steps, step{f, "mutator"})
	}
	for _, f := range p.Validators {
		steps = append(steps, step{f, "validator"})
	}
	return steps
}

// heading is the line of a function: its step, its kind, its title, and where it would run.
func (s step) heading(title string) string {
	return fmt.Sprintf("%d. %s %s (%s)", s.Step, s.kind, title, s.place())
}

func (s step) title() string {
	title := s.Image + s.Exec
	if s.Constraint != "" {
		title += " " + s.Constraint
	}
	return terminal.Safe(title)
}

// place words where the function would run.
func (s step) place() string {
	switch {
	case s.Problem != "":
		return "fails"
	case s.Runtime == "":
		return "depends on the tags in the registry"
	}
	return terminal.Safe(strings.TrimSpace(s.Runtime + " " + s.Implementation))
}

// pretty returns the lines of a function on a terminal.
func (s step) pretty(style terminal.Style) []string {
	place := style.Dim("(" + s.place() + ")")
	if s.Problem != "" {
		place = style.Red("(" + s.place() + ")")
	}
	details := s.details()
	lines := make([]string, 0, 1+len(details))
	lines = append(lines, fmt.Sprintf("%d. %s %s %s", s.Step, style.Dim(s.kind), style.Cyan(progress.ShortImage(s.title())), place))
	for _, d := range details {
		label, value, _ := strings.Cut(d, ": ")
		switch label {
		case "problem":
			value = style.Red(value)
		case "warning":
			value = style.Yellow(value)
		}
		lines = append(lines, "   "+style.Dim(label+":")+" "+value)
	}
	return lines
}

// details returns what else there is to know of a function, one fact a line: "label: value".
func (s step) details() []string {
	var lines []string
	add := func(label, value string) {
		if value != "" {
			lines = append(lines, label+": "+terminal.OneLine(value))
		}
	}
	add("name", s.Name)
	add("configPath", s.ConfigPath)
	add("configMap", strings.Join(s.ConfigMapKeys, ", "))
	for i := range s.Selectors {
		add("selector", render.DescribeSelector(&s.Selectors[i]))
	}
	for i := range s.Exclude {
		add("exclude", render.DescribeSelector(&s.Exclude[i]))
	}
	add("warning", s.Warning)
	add("problem", s.Problem)
	return lines
}
