// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package render runs the pipeline of a package's Kptfile as `kpt fn render` does: all mutators, each on what the one
// before it made, then all validators, each on a copy of the final resources. The first failure ends it. Nothing is
// written: the caller gets the files that change and decides.
package render

import (
	"context"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/packages"
	"github.com/krmfn/krmfn/services/renderstatus"
)

// Options say how packages are rendered.
type Options struct {
	// Evaluator evaluates the functions that are images.
	Evaluator evaluation.Evaluator
	// Exec evaluates the functions that are command lines, which it gets in the place of the image. Nil forbids them.
	Exec evaluation.Evaluator
	// ImagePrefix is the prefix of short image names; see image.Resolve. Empty means that they stay short.
	ImagePrefix string
	// Observe, unless nil, is called with each Event, one after the other, on the goroutine that renders.
	Observe func(Event)
}

// Result is what a render made of a package.
type Result struct {
	// Report tells how it went. It is complete on failure too.
	Report renderstatus.Report
	// Tree is the tree that was rendered; nil when it could not be opened.
	Tree *packages.Tree
	// Resources are the resources after the last mutator that succeeded; on failure, too.
	Resources []*yaml.RNode
	// Output is the files of the resources, and what of them is new. It is empty on failure.
	Output packages.Output
}

// Package renders the package at the root of a tree of files. Its sub-packages are left as they are: their pipelines do
// not run, and their resources are not among the input.
//
// Every error is an *Error, worded as kpt words it; Cause has what went wrong without where. A function that failed is a
// *FunctionError, one that no evaluator knows an *evaluation.NotFoundError. Errors of the Kptfile are those of package
// kptfile, among them kptfile.ErrMissing.
func Package(ctx context.Context, source packages.Source, options Options) (Result, error) {
	result, err := open(source)
	if err != nil {
		return result, err
	}
	root, err := result.Tree.Read(".")
	if err != nil {
		err = &Error{Op: opRender, Package: source.Location(), Err: &Error{Op: opRead, Err: err}}
		result.Report = renderstatus.NewUnreached(err)
		return result, err
	}
	p := newPipeline(root, options)
	err = p.run(ctx)
	result.Resources = p.resources
	if err == nil {
		if result.Output, err = result.Tree.Output(p.resources, root); err != nil {
			err = fmt.Errorf("failed to save resources: %w", err)
		}
	}
	if err != nil {
		err = &Error{Op: opRender, Package: source.Location(), Err: &Error{Op: opPackage, Err: err}}
	}
	result.Report = renderstatus.NewReport(p.functions, err)
	return result, err
}

func open(source packages.Source) (Result, error) {
	tree, err := packages.Open(source)
	if err != nil {
		err = &Error{Op: opRender, Package: source.Location(), Err: &Error{Op: opRead, Err: err}}
		return Result{Report: renderstatus.NewUnreached(err)}, err
	}
	return Result{Tree: tree}, nil
}
