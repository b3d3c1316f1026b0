// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/krmfn/krmfn/services/render/packages"
)

// PackagePlan describes what a render would do with a package.
type PackagePlan struct {
	PlannedPackage
	// Mutators and Validators are the functions of the pipeline, in run order.
	Mutators, Validators []kptfilev1.Function
}

// Plan returns the packages that Package would render, in the same order, without running functions or contacting registries.
// It reads all Kptfiles. If a Kptfile is invalid, Plan returns the error that Package would return for it, possibly after
// running functions.
func Plan(tree *packages.Tree) ([]PackagePlan, error) {
	root := plan(tree, ".")
	if err := root.check(); err != nil {
		return nil, &Error{Op: opRender, Package: root.location, Err: &Error{Op: opRead, Package: root.location, Err: err}}
	}
	order := root.order()
	plans := make([]PackagePlan, 0, len(order))
	for _, n := range order {
		if err := n.check(); err != nil {
			return nil, &Error{Op: opRender, Package: root.location, Err: &Error{Op: opRead, Package: n.location, Err: err}}
		}
		p := PackagePlan{PlannedPackage: n.planned()}
		p.Mutators, p.Validators = n.functions()
		plans = append(plans, p)
	}
	return plans, nil
}
