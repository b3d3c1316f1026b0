// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package render runs the pipelines of a package and of the packages below it as `kpt fn render` does. A pipeline runs all
// mutators, each on what the one before it made, then all validators, each on a copy of the final resources. The first
// failure ends it. Nothing is written: the caller gets the files that change and decides.
//
// To begin, open a tree of files with package packages ([packages.NewMemory], [packages.OpenDir]), choose what evaluates the
// functions from package runtime, and call [Package]. [Function] evaluates a single function, as `kpt fn eval` does.
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

// Result is what a render made of a package.
type Result struct {
	// Report tells how it went. It is complete on failure too.
	Report renderstatus.Report
	// Tree is the tree that was rendered; nil when it could not be opened.
	Tree *packages.Tree
	// Package is the directory of the package in the tree; "." for the tree's root.
	Package string
	// Resources are the resources of the package and of those below it, after the last mutator that succeeded; on failure,
	// too, when those of packages that were not come to are missing.
	Resources []*yaml.RNode
	// Output is the files of the resources, and what of them is new. It is empty on failure, but for two things that
	// are then to be written in place: what the functions made before the failure, where the root Kptfile has the annotation
	// kpt.dev/save-on-render-failure; and the status, with Options.WriteStatus.
	Output packages.Output
}

// Package renders the package at the root of a tree of files and all packages below it: those first, so that the functions
// of each package see, after its own resources, what became of the packages below. They may change them, delete them and
// add to them. Packages beside each other never see each other. The annotation kpt.dev/bfs-rendering of the root Kptfile
// turns the order round.
//
// Every error is an *Error, worded as kpt words it; Cause has what went wrong without where. A function that failed is a
// *FunctionError, one that no evaluator knows an *evaluation.NotFoundError. Errors of the Kptfile are those of package
// kptfile, among them kptfile.ErrMissing.
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

// open reads all Kptfiles. The package is nil without an error where there is none to render.
func open(source packages.Source, options Options, result *Result) (*node, error) {
	tree, err := packages.Open(source)
	if err != nil {
		return &node{location: source.Location()}, err
	}
	result.Tree = tree
	if options.Topmost {
		dir, ok := tree.Topmost()
		if !ok {
			return nil, nil //nolint:nilnil // Nothing to render is no error.
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

// Options say how packages are rendered.
type Options struct {
	// Evaluator evaluates the functions that are images. Where it is a Preparer, it is given all images before the first
	// function runs; where it is a ListEvaluator, nothing is printed and parsed for the functions that it knows.
	Evaluator evaluation.Evaluator
	// Exec evaluates the functions that are command lines, which it gets in the place of the image. Nil forbids them.
	Exec evaluation.Evaluator
	// ImagePrefix is the prefix of short image names; see image.Resolve. Empty means that they stay short.
	ImagePrefix string
	// Tags lists tags, for the version constraints that functions have for their tag (~0.1): before the first function runs,
	// each is resolved to the highest tag that satisfies, which then stands in the results and in the status. Nil refuses
	// constraints. Nothing is listed for other tags.
	Tags TagLister
	// Topmost renders the topmost package of a tree whose root is none. In a tree without any package nothing is rendered
	// then, which is no error.
	Topmost bool
	// Parallel is how many packages are rendered at once, where they do not depend on each other: 1 for one after the other,
	// 0 for the default, the number of CPUs but at most 4. It changes nothing but the time.
	Parallel int
	// NoAttribution leaves out the annotation by which Config Connector's resources tell that they have been rendered. kpt
	// does so where the environment variable KRM_DISABLE_ATTRIBUTION is not empty.
	NoAttribution bool
	// WriteStatus writes how the render went to the root Kptfile of the output, as kpt does when it renders in place: the
	// condition Rendered, and renderStatus with each function. It does so on failure, too, unless the root Kptfile itself
	// cannot be read or is not valid.
	WriteStatus bool
	// AllowDeletion accepts output that looks like an accident: output that has neither items nor a functionConfig, so that nothing
	// is left of what the function got, and output that lacks the package's Kptfile but not all else. An empty list of items, and
	// none beside a functionConfig, as functions built on the SDK print it, are accepted in any case.
	AllowDeletion bool
	// Observe, unless nil, is called with each Event, one after the other, on any goroutine.
	Observe func(Event)
}

// complete returns the options with their defaults.
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

// maxDefaultParallel keeps many CPUs from meaning many function pods.
const maxDefaultParallel = 4
