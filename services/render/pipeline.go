// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

type pipeline struct {
	node    *node
	images  *images
	options Options
	emit    emitter
	// resources are the resources after the last successful mutator.
	resources []*yaml.RNode
	// checked is set once all resources are known to be KRM resources. Output of functions always is.
	checked bool
	configs configs
	// keepInput makes the pipeline leave the caller's resources unmodified.
	keepInput bool
	// functions are all functions of the pipeline that were due.
	functions []renderstatus.Function
}

func newPipeline(n *node, resources []*yaml.RNode, names *images, options Options, emit emitter) *pipeline {
	return &pipeline{node: n, images: names, options: options, emit: emit, resources: resources}
}

// run runs all mutators and then all validators. It stops at the first error.
func (p *pipeline) run(ctx context.Context) error {
	mutators, validators := p.node.functions()
	p.emit(&PackageStarted{PlannedPackage: p.node.planned(), Resources: len(p.resources)})
	err := p.runFunctions(ctx, mutators, validators)
	p.emit(&PackageFinished{Package: p.node.dir, Err: err})
	return err
}

func (p *pipeline) runFunctions(ctx context.Context, mutators, validators []kptfilev1.Function) error {
	if len(mutators)+len(validators) == 0 {
		return p.checkInput(p.resources)
	}
	p.configs = newConfigs(slices.Concat(mutators, validators), p.resources, p.node.location)
	if err := errors.Join(p.configs.check("mutator", mutators), p.configs.check("validator", validators)); err != nil {
		return err
	}
	err := p.runMutators(ctx, mutators)
	if err == nil {
		err = p.runValidators(ctx, validators)
	}
	if err != nil {
		return &Error{Op: opPipeline, Package: p.node.location, Err: err}
	}
	return nil
}

func (p *pipeline) runMutators(ctx context.Context, mutators []kptfilev1.Function) error {
	// Check all mutators before the first one runs.
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
	return nil
}

func (p *pipeline) runValidators(ctx context.Context, validators []kptfilev1.Function) error {
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
		p.configs.refresh(resources, p.node.location)
	}
	return err
}

// step prepares a function: it resolves the image and chooses the evaluator.
func (p *pipeline) step(f *kptfilev1.Function, index int, validator bool) (*step, error) {
	s := &step{
		spec:      f,
		evaluator: p.options.Evaluator,
		record:    renderstatus.Function{Package: p.node.dir, Validator: validator, Index: index, Name: f.Name},
	}
	err := s.resolve(p.images, p.options)
	if err != nil {
		s.record.SetFailure(err.Error())
		p.functions = append(p.functions, s.record)
		p.emit(&FunctionFinished{Function: s.record, Err: err})
	}
	return s, err
}

func (s *step) resolve(names *images, options Options) error {
	if s.spec.Exec != "" {
		s.record.Exec, s.evaluator = s.spec.Exec, options.Exec
		if options.Exec == nil {
			return errors.New("must run with `--allow-exec` option to allow running function binaries")
		}
		if c, ok := options.Exec.(checker); ok {
			return c.Check(s.spec.Exec)
		}
		return nil
	}
	ref, err := names.of(s.spec)
	s.record.Image = cmp.Or(ref, s.spec.Image)
	return err
}

// checker checks a command line before any function runs. Evaluators of commands may implement it.
type checker interface{ Check(command string) error }

func (p *pipeline) checkInput(resources []*yaml.RNode) error {
	if p.checked {
		return nil
	}
	if err := checkAllKRM(resources); err != nil {
		return fmt.Errorf("input resource list must contain only KRM resources: %w", err)
	}
	p.checked = len(resources) == len(p.resources)
	return nil
}

func (p *pipeline) hasKptfile(resources []*yaml.RNode) bool {
	return slices.ContainsFunc(resources, func(r *yaml.RNode) bool {
		return path.Clean(resource.Path(r)) == kptfilev1.KptFileName &&
			resource.Annotation(r, resource.PackageAnnotation) == p.node.location
	})
}
