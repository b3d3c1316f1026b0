// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Event is an event of a render: *Started, *PackageStarted, *PackageFinished, *FunctionStarted or *FunctionFinished. *Started
// is the first. The events of each package are contiguous and in the order of sequential rendering, even if packages are
// rendered in parallel.
type Event interface{ event() }

// Started reports that all Kptfiles have been read.
type Started struct {
	// Packages lists the packages in render order.
	Packages []PlannedPackage
}

// PlannedPackage is a package that will be rendered.
type PlannedPackage struct {
	// Package is the package's directory in the tree; "." for the root.
	Package string
	// Name is the package's name for display: the directory names of its parent packages and its own, separated by slashes.
	Name string
	// Depth is the number of packages above this one.
	Depth int
	// Functions is the number of functions in the pipeline.
	Functions int
}

// PackageStarted reports that a package's pipeline starts, even if the pipeline is empty.
type PackageStarted struct {
	PlannedPackage
	// Resources is the number of resources at the start.
	Resources int
}

// PackageFinished reports that a package's pipeline has ended.
type PackageFinished struct {
	// Package is the package's directory in the tree.
	Package string
	// Err is the error that ended the pipeline; nil on success.
	Err error
}

// FunctionStarted reports that a function is about to run.
type FunctionStarted struct {
	// Function identifies the function. Fields that describe the run are not set.
	Function renderstatus.Function
	// Resources is the number of resources in the function's input. Selected reports whether the function has selectors or
	// exclusions.
	Resources int
	Selected  bool
}

// FunctionFinished reports that a function has run or could not run.
type FunctionFinished struct {
	// Function identifies the function and describes the run.
	Function renderstatus.Function
	// Report is the evaluation's report; nil if there is none.
	Report *evaluationv1.Evaluation
	// Err is the error; nil on success.
	Err error
}

func (*PackageStarted) event()   {}
func (*Started) event()          {}
func (*PackageFinished) event()  {}
func (*FunctionStarted) event()  {}
func (*FunctionFinished) event() {}
