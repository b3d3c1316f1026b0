// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package render runs the pipelines of a package and of the packages below it like `kpt fn render`. A pipeline runs all
// mutators, each on the output of the previous one, and then all validators, each on a copy of the final resources. It stops at
// the first failure. Nothing is written: the caller gets the changed files and decides what to do with them.
//
// To begin, open a file tree with package packages ([packages.NewMemory], [packages.OpenDir]), choose an evaluator for
// functions from package runtime, and call [Package]. [Function] evaluates a single function, like `kpt fn eval`.
package render

import (
	"context"
	"runtime"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Result is the result of rendering a package.
type Result struct {
	// Report describes the render. It is complete on failure too.
	Report renderstatus.Report
	// Tree is the rendered tree; nil if it could not be opened.
	Tree *packages.Tree
	// Package is the package's directory in the tree; "." for the root.
	Package string
	// Resources are the resources of the package and of those below it after the last successful mutator. On failure, resources
	// of packages that were not reached are missing.
	Resources []*yaml.RNode
	// Output has the files of the resources and their changes. On failure it is empty, with two exceptions: if the root Kptfile
	// has the annotation kpt.dev/save-on-render-failure, it has the resources before the failure, and with Options.WriteStatus
	// it has the status. The caller should write these too.
	Output packages.Output
}

// Package renders the package at the root of a file tree and all packages below it. Children come first: the functions of a
// package see its own resources, followed by the rendered resources of the packages below. They may change, delete and add
// resources of both. Sibling packages never see each other. The annotation kpt.dev/bfs-rendering of the root Kptfile reverses
// the order.
//
// Every error is an *Error and worded as in kpt; Cause returns the innermost error. The cause is a *FunctionError for a failed
// function, a *evaluation.NotFoundError for a function that no evaluator finds, or an error of package kptfile, such as
// kptfile.ErrMissing.
func Package(ctx context.Context, source packages.Source, options Options) (Result, error) {
	result := Result{Package: "."}
	root, err := open(source, options, &result)
	if err != nil {
		err = &Error{Op: opRender, Package: root.location, Err: &Error{Op: opRead, Package: root.location, Err: err}}
		result.Report = renderstatus.NewUnreached(err)
		return result, err
	}
	if root == nil {
		return result, nil
	}
	options = options.complete()
	options.Observe(started(root))
	names := resolveImages(ctx, root.imageFunctions(), options)
	prepare(ctx, root, names, options)
	h := &hydration{tree: result.Tree, options: options, images: names, slots: make(chan struct{}, options.Parallel)}
	hydrate := h.depthFirst
	if root.annotated(kptfilev1.BFSRenderAnnotation) {
		hydrate = h.breadthFirst
	}
	out := hydrate(ctx, root, options.Observe)
	result.Resources, err = out.resources, result.save(root, out, options)
	if err != nil {
		err = &Error{Op: opRender, Package: root.location, Err: err}
	}
	result.Report = renderstatus.NewReport(out.functions, err)
	return result, err
}

// open reads all Kptfiles. It returns nil without an error if there is no package to render.
func open(source packages.Source, options Options, result *Result) (*node, error) {
	tree, err := packages.Open(source)
	if err != nil {
		return &node{location: source.Location()}, err
	}
	result.Tree = tree
	if options.Topmost {
		dir, ok := tree.Topmost()
		if !ok {
			return nil, nil //nolint:nilnil // no package to render is not an error
		}
		result.Package = dir
	}
	root := plan(tree, result.Package)
	return root, root.check()
}

func started(root *node) *Started {
	e := &Started{}
	for _, n := range root.order() {
		e.Packages = append(e.Packages, n.planned())
	}
	return e
}

// Options configure a render.
type Options struct {
	// Evaluator evaluates functions with an image. If it is a Preparer, it is passed all images before the first function runs.
	// If it is a ListEvaluator, functions that it finds run without printing and parsing.
	Evaluator evaluation.Evaluator
	// Exec evaluates functions with a command line, which it gets as Request.Image. Nil forbids such functions.
	Exec evaluation.Evaluator
	// ImagePrefix is the prefix for short image names; see reference.Resolve. If empty, short names are used as they are.
	ImagePrefix string
	// Tags lists tags, to resolve version constraints in function tags such as ~0.1. Before the first function runs, each
	// constraint is resolved to the highest matching tag, which then appears in results and status. Nil makes constraints an
	// error. Other tags are not looked up.
	Tags TagLister
	// Topmost renders the topmost package of a tree whose root is not a package. If the tree has no package, nothing is
	// rendered and there is no error.
	Topmost bool
	// Parallel is the maximum number of independent packages that are rendered in parallel. 1 means sequentially; 0 means the
	// default, which is the number of CPUs but at most 4. It does not affect the result.
	Parallel int
	// NoAttribution omits the annotation that marks Config Connector resources as rendered. kpt does so if the environment
	// variable KRM_DISABLE_ATTRIBUTION is not empty.
	NoAttribution bool
	// WriteStatus writes the result to the root Kptfile of the output like kpt's in-place render: the condition Rendered, and
	// renderStatus with every function. It does so on failure too, unless the root Kptfile cannot be read or is invalid.
	WriteStatus bool
	// AllowDeletion accepts output that looks like an accident: output without items and functionConfig, which deletes all of
	// the function's input, and output that lacks only the package's Kptfile. An empty items field, and missing items with a
	// functionConfig as printed by functions built on the SDK, are always accepted.
	AllowDeletion bool
	// Observe, unless nil, is called with each Event. Calls do not overlap but may come from any goroutine.
	Observe func(Event)
}

// complete returns the options with defaults filled in.
func (options Options) complete() Options {
	if options.Evaluator == nil {
		options.Evaluator = evaluation.Chain()
	}
	if options.Observe == nil {
		options.Observe = func(Event) {}
	}
	if options.Parallel <= 0 {
		options.Parallel = min(runtime.NumCPU(), maxDefaultParallel)
	}
	return options
}

// maxDefaultParallel limits the number of function pods that are needed at once on machines with many CPUs.
const maxDefaultParallel = 4
