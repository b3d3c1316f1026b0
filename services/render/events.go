// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Event is something that happens in a render: *Started, *PackageStarted, *PackageFinished, *FunctionStarted or
// *FunctionFinished. The first is *Started; then the events of each package come together, in the order of sequential
// rendering, however many packages are rendered at once.
type Event interface{ event() }

// Started says that all Kptfiles have been read.
type Started struct {
	// Packages are the packages, in the order in which they are rendered.
	Packages []PlannedPackage
}

// PlannedPackage is a package that is going to be rendered.
type PlannedPackage struct {
	// Package is the directory of the package in its tree; "." for the tree's root.
	Package string
	// Name is the package's name for people: the names of the directories of the packages down to it, with slashes
	// between them.
	Name string
	// Depth is how many packages there are above this one.
	Depth int
	// Functions is how many functions the pipeline has.
	Functions int
}

// PackageStarted says that a package's pipeline begins. It comes for packages without a pipeline too.
type PackageStarted struct {
	PlannedPackage
	// Resources is how many resources it begins with.
	Resources int
}

// PackageFinished says that a package's pipeline has come to its end.
type PackageFinished struct {
	// Package is the directory of the package in its tree.
	Package string
	// Err is the error that ended it; nil when it succeeded.
	Err error
}

// FunctionStarted says that a function is about to run.
type FunctionStarted struct {
	// Function tells which one, without anything that is known only after it has run.
	Function renderstatus.Function
	// Resources is how many resources it gets. Selected tells whether that is a selection.
	Resources int
	Selected  bool
}

// FunctionFinished says that a function has run, or that it could not.
type FunctionFinished struct {
	// Function tells which one, and how it went.
	Function renderstatus.Function
	// Report is the evaluation's report; nil when there was none.
	Report *evaluationv1.Evaluation
	// Err is why it failed; nil when it succeeded.
	Err error
}

func (*PackageStarted) event()   {}
func (*Started) event()          {}
func (*PackageFinished) event()  {}
func (*FunctionStarted) event()  {}
func (*FunctionFinished) event() {}
