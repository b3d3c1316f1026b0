// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/image"
	"github.com/krmfn/krmfn/services/packages"
	"github.com/krmfn/krmfn/services/renderstatus"
	"github.com/krmfn/krmfn/services/resource"
)

// pipeline runs the functions of one package.
type pipeline struct {
	pkg     *packages.Package
	options Options
	// resources are the state: what the mutators have made so far.
	resources []*yaml.RNode
	configs   configs
	// functions are all that the pipeline came to.
	functions []renderstatus.Function
}

func newPipeline(pkg *packages.Package, options Options) *pipeline {
	if options.Evaluator == nil {
		options.Evaluator = evaluation.Chain()
	}
	return &pipeline{pkg: pkg, options: options, resources: pkg.Resources}
}

func (p *pipeline) observe(e Event) {
	if p.options.Observe != nil {
		p.options.Observe(e)
	}
}

// run runs all mutators and then all validators, up to the first error.
func (p *pipeline) run(ctx context.Context) error {
	var mutators, validators []kptfilev1.Function
	if spec := p.pkg.Kptfile.Pipeline; spec != nil {
		mutators, validators = spec.Mutators, spec.Validators
	}
	p.observe(&PackageStarted{
		Package: p.pkg.Dir, Name: path.Base(p.pkg.Location),
		Functions: len(mutators) + len(validators), Resources: len(p.resources),
	})
	for _, sub := range p.pkg.Subpackages {
		p.observe(&PackageSkipped{Package: sub, Reason: "pipelines of sub-packages are not run yet, and their resources are left alone"})
	}
	err := p.runFunctions(ctx, mutators, validators)
	if err != nil {
		err = &Error{Op: opPipeline, Err: err}
	}
	p.observe(&PackageFinished{Package: p.pkg.Dir, Err: err})
	return err
}

func (p *pipeline) runFunctions(ctx context.Context, mutators, validators []kptfilev1.Function) error {
	if len(mutators)+len(validators) == 0 {
		return p.checkInput(p.resources)
	}
	p.configs = newConfigs(slices.Concat(mutators, validators), p.resources, p.pkg.Location)
	if err := errors.Join(p.configs.check("mutator", mutators), p.configs.check("validator", validators)); err != nil {
		return err
	}
	// What is wrong with any mutator is found before the first of them runs.
	steps := make([]*step, 0, len(mutators))
	for i := range mutators {
		s, err := p.step(&mutators[i], i, false)
		if err != nil {
			return err
		}
		steps = append(steps, s)
	}
	for _, s := range steps {
		if err := p.mutate(ctx, s); err != nil {
			return err
		}
	}
	for i := range validators {
		s, err := p.step(&validators[i], i, true)
		if err != nil {
			return err
		}
		if _, err := p.evaluate(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (p *pipeline) mutate(ctx context.Context, s *step) error {
	resources, err := p.evaluate(ctx, s)
	if err == nil {
		p.resources = resources
		p.configs.refresh(resources, p.pkg.Location)
	}
	return err
}

// step makes a function ready to run: what it is called and what evaluates it.
func (p *pipeline) step(f *kptfilev1.Function, index int, validator bool) (*step, error) {
	s := &step{
		spec:      f,
		evaluator: p.options.Evaluator,
		record:    renderstatus.Function{Package: p.pkg.Dir, Validator: validator, Index: index, Name: f.Name},
	}
	err := s.resolve(p.options)
	if err != nil {
		s.record.SetFailure(err.Error())
		p.functions = append(p.functions, s.record)
		p.observe(&FunctionFinished{Function: s.record, Err: err})
	}
	return s, err
}

func (s *step) resolve(options Options) error {
	if s.spec.Exec != "" {
		s.record.Exec, s.evaluator = s.spec.Exec, options.Exec
		if options.Exec == nil {
			return errors.New("must run with `--allow-exec` option to allow running function binaries")
		}
		return nil
	}
	ref, err := image.ForFunction(s.spec.Image, s.spec.Tag, options.ImagePrefix)
	s.record.Image = ref
	return err
}

func (p *pipeline) checkInput(resources []*yaml.RNode) error {
	if err := resource.CheckAllKRM(resources); err != nil {
		return fmt.Errorf("input resource list must contain only KRM resources: %w", err)
	}
	return nil
}

// hasKptfile tells whether the package's Kptfile is among resources.
func (p *pipeline) hasKptfile(resources []*yaml.RNode) bool {
	return slices.ContainsFunc(resources, func(r *yaml.RNode) bool {
		return path.Clean(resource.Path(r)) == kptfilev1.KptFileName &&
			resource.Annotation(r, resource.PackageAnnotation) == p.pkg.Location
	})
}
