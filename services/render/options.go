// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"runtime"

	"github.com/krmfn/krmfn/services/evaluation"
)

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
