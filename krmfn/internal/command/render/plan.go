// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"maps"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

// printPlan prints what a render would run, and where. Nothing runs and nothing is written.
func (c *command) printPlan(dir string) (err error) {
	source, err := output.OpenDir(c.Program, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	tree, err := packages.Open(source)
	if err != nil {
		return err
	}
	planned, err := render.Plan(tree)
	if err != nil {
		return hintBelow(tree, err)
	}
	var plan report.Plan
	step := 0
	functions := func(all []kptfilev1.Function) []report.PlannedFunction {
		functions := make([]report.PlannedFunction, 0, len(all))
		for i := range all {
			step++
			f := c.plannedFunction(&all[i])
			f.Step = step
			functions = append(functions, f)
		}
		return functions
	}
	for _, p := range planned {
		plan.Packages = append(plan.Packages, report.PlannedPackage{
			Package: p.Package, Name: p.Name, Mutators: functions(p.Mutators), Validators: functions(p.Validators),
		})
	}
	if c.output.JSON() {
		return report.WriteJSON(c.Out, plan)
	}
	return report.WritePlan(c.Out, plan)
}

func (c *command) plannedFunction(f *kptfilev1.Function) report.PlannedFunction {
	planned := report.PlannedFunction{
		Name: f.Name, Exec: f.Exec, ConfigPath: f.ConfigPath, ConfigMapKeys: slices.Sorted(maps.Keys(f.ConfigMap)),
		Selectors: f.Selectors, Exclude: f.Exclusions,
	}
	if err := c.place(&planned, f); err != nil {
		planned.Problem = err.Error()
	}
	return planned
}

// place fills in where a function would run. The error is why it would not.
func (c *command) place(planned *report.PlannedFunction, f *kptfilev1.Function) error {
	if f.Exec != "" {
		if !c.allowExec {
			return errors.New("it is a command on this machine: use --allow-exec to allow it")
		}
		planned.Runtime = "exec"
		return nil
	}
	constraint, constrained := reference.FunctionConstraint(f.Image, f.Tag, c.runner.ImagePrefix)
	if constrained {
		planned.Image, planned.Constraint = constraint.Repository, constraint.Versions
		place := c.runner.PlaceAnyVersion(c.Program, planned.Image)
		planned.Runtime, planned.Implementation = place.Runtime, place.Implementation
		return place.Err
	}
	ref, err := reference.ForFunction(f.Image, f.Tag, c.runner.ImagePrefix)
	if err != nil {
		planned.Image = f.Image
		return err
	}
	place := c.runner.Place(c.Program, ref)
	planned.Image, planned.Runtime, planned.Implementation, planned.Warning = ref, place.Runtime, place.Implementation, place.Warning
	return place.Err
}
