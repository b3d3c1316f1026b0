// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

type hydration struct {
	tree    *packages.Tree
	options Options
	images  *images
	// slots bounds how many packages are read or rendered at once.
	slots chan struct{}
}

type outcome struct {
	// resources are the state: after the last mutator that succeeded, where there is an error.
	resources []*yaml.RNode
	// functions are all functions that were come to, in order.
	functions []renderstatus.Function
	// read are the packages whose resources are in the state.
	read []*packages.Package
	// err is the error that ended it, with the level of the package it belongs to; nil when it succeeded.
	err error
}

// depthFirst renders a package after all packages below it: its functions see its own resources, and then what became of
// theirs.
func (h *hydration) depthFirst(ctx context.Context, n *node, emit emitter) outcome {
	out, err := h.below(ctx, n, emit)
	if err != nil {
		out.err = err
		return out
	}
	p := newPipeline(n, out.resources, h.images, h.options, emit)
	// What the first function replaces is to be free while the next one runs.
	out.resources = nil
	if err := h.limited(ctx, func() error { return p.run(ctx) }); err != nil {
		out.err = &Error{Op: opPackage, Package: n.location, Err: err}
	}
	out.resources = p.resources
	out.functions = append(out.functions, p.functions...)
	return out
}

// below returns a package's own resources and those that became of the packages below it.
func (h *hydration) below(ctx context.Context, n *node, emit emitter) (outcome, error) {
	var out outcome
	if err := h.limited(ctx, func() error { return h.tree.ReadResources(n.pkg) }); err != nil {
		return out, &Error{Op: opPackage, Package: n.location, Err: &Error{Op: opReadResources, Package: n.location, Err: err}}
	}
	out.resources, out.read = n.pkg.TakeResources(), []*packages.Package{n.pkg}
	if err := n.checkSubpackages(); err != nil {
		return out, &Error{Op: opPackage, Package: n.location, Err: err}
	}
	outcomes := h.inOrder(ctx, len(n.subs), emit, func(ctx context.Context, i int, emit emitter) outcome {
		sub := n.subs[i]
		if sub.invalid != nil {
			return outcome{err: &Error{Op: opRead, Package: sub.location, Err: sub.invalid}}
		}
		return h.depthFirst(ctx, sub, emit)
	})
	for i, sub := range outcomes {
		out.resources = append(out.resources, sub.resources...)
		out.functions = append(out.functions, sub.functions...)
		out.read = append(out.read, sub.read...)
		if sub.err != nil {
			return out, &Error{Op: opPackage, Package: n.subs[i].location, Err: sub.err}
		}
	}
	return out, nil
}

// limited does what takes time, when it is its turn.
func (h *hydration) limited(ctx context.Context, work func() error) error {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
		return work()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
