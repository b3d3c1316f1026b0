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
	// slots is a semaphore that limits how many packages are read or rendered in parallel.
	slots chan struct{}
}

type outcome struct {
	// resources are the resources after the last successful mutator.
	resources []*yaml.RNode
	// functions are all functions that were due, in order.
	functions []renderstatus.Function
	// read are the packages whose resources were read.
	read []*packages.Package
	// err is the error that ended the render, with the level of its package; nil on success.
	err error
}

// depthFirst renders a package after all packages below it. Its functions see its own resources, followed by the rendered
// resources of the packages below.
func (h *hydration) depthFirst(ctx context.Context, n *node, emit emitter) outcome {
	out, err := h.below(ctx, n, emit)
	if err != nil {
		out.err = err
		return out
	}
	p := newPipeline(n, out.resources, h.images, h.options, emit)
	// Release the reference, so that input resources can be garbage-collected after the first function replaces them.
	out.resources = nil
	if err := h.limited(ctx, func() error { return p.run(ctx) }); err != nil {
		out.err = &Error{Op: opPackage, Package: n.location, Err: err}
	}
	out.resources = p.resources
	out.functions = append(out.functions, p.functions...)
	return out
}

// below returns a package's own resources and the rendered resources of the packages below it.
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

// limited runs work in a slot. It waits until a slot is free or ctx ends.
func (h *hydration) limited(ctx context.Context, work func() error) error {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
		return work()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
