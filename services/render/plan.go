// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/krmfn/krmfn/services/render/packages"
)

type node struct {
	pkg *packages.Package
	// dir is the package's directory in the tree, location its absolute path, name its display name.
	dir, location, name string
	// depth is the number of packages above this one.
	depth int
	// loadErr is the error of reading the Kptfile, invalid the error of validating its pipeline. Each is returned only when the
	// package is due, after the packages before it.
	loadErr, invalid error
	subs             []*node
}

// plan reads the Kptfiles of a package and of all packages below it.
func plan(tree *packages.Tree, dir string) *node {
	return planNode(tree, dir, path.Base(tree.Location(dir)), 0)
}

func planNode(tree *packages.Tree, dir, name string, depth int) *node {
	n := &node{dir: dir, location: tree.Location(dir), name: name, depth: depth}
	if n.pkg, n.loadErr = tree.Load(dir); n.loadErr != nil {
		return n
	}
	n.invalid = tree.Validate(n.pkg)
	for _, sub := range n.pkg.Subpackages {
		n.subs = append(n.subs, planNode(tree, sub, path.Join(name, path.Base(sub)), depth+1))
	}
	return n
}

// order returns the packages in render order.
func (n *node) order() []*node {
	if n.annotated(kptfilev1.BFSRenderAnnotation) {
		return slices.Concat(n.levels()...)
	}
	return n.depthFirst()
}

// depthFirst returns the packages, children before parents.
func (n *node) depthFirst() []*node {
	var order []*node
	for _, sub := range n.subs {
		order = append(order, sub.depthFirst()...)
	}
	return append(order, n)
}

func (n *node) planned() PlannedPackage {
	mutators, validators := n.functions()
	return PlannedPackage{Package: n.dir, Name: n.name, Depth: n.depth, Functions: len(mutators) + len(validators)}
}

// functions returns the functions of the package's pipeline.
func (n *node) functions() (mutators, validators []kptfilev1.Function) {
	if n.pkg == nil || n.pkg.Kptfile.Pipeline == nil {
		return nil, nil
	}
	return n.pkg.Kptfile.Pipeline.Mutators, n.pkg.Kptfile.Pipeline.Validators
}

// check returns the error of the package's Kptfile, or nil.
func (n *node) check() error {
	if n.loadErr != nil {
		return n.loadErr
	}
	return n.invalid
}

// checkSubpackages returns the error of the first package directly below whose Kptfile cannot be read.
func (n *node) checkSubpackages() error {
	for _, sub := range n.subs {
		if sub.loadErr != nil {
			return &Error{Op: opSubpackages, Package: sub.location, Err: sub.loadErr}
		}
	}
	return nil
}

// annotated reports whether the Kptfile's annotation key is "true".
func (n *node) annotated(key string) bool {
	return strings.EqualFold(n.pkg.Kptfile.Annotations[key], "true")
}
