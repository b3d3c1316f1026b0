// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// breadthFirst renders a package before the packages below it, level by level: its functions see its own resources and the not
// yet rendered resources of all packages below. It validates all Kptfiles and reads all resources before it runs a function.
func (h *hydration) breadthFirst(ctx context.Context, root *node, emit emitter) outcome {
	levels := root.levels()
	out := outcome{}
	for _, level := range levels {
		for _, n := range level {
			if err := h.discover(ctx, n); err != nil {
				out.err = &Error{Op: opPackage, Package: root.location, Err: err}
				return out
			}
			out.read = append(out.read, n.pkg)
		}
	}
	states := make(map[*node][]*yaml.RNode, len(out.read))
	for _, n := range root.preorder() {
		states[n] = n.pkg.TakeResources()
	}
	for _, level := range levels {
		var err error
		if out.functions, err = h.level(ctx, level, states, out.functions, emit); err != nil {
			out.err = &Error{Op: opPackage, Package: root.location, Err: err}
			break
		}
	}
	for _, level := range levels {
		for _, n := range level {
			out.resources = append(out.resources, states[n]...)
		}
	}
	return out
}

// discover reads a package's resources and checks the Kptfiles directly below it.
func (h *hydration) discover(ctx context.Context, n *node) error {
	err := h.limited(ctx, func() error { return h.tree.ReadResources(n.pkg) })
	if err != nil {
		return &Error{Op: opReadResources, Package: n.location, Err: err}
	}
	if err := n.checkSubpackages(); err != nil {
		return err
	}
	for _, sub := range n.subs {
		if sub.invalid != nil {
			return &Error{Op: opRead, Package: sub.location, Err: sub.invalid}
		}
	}
	return nil
}

// level runs the pipelines of packages on the same level. Each pipeline sees only its package and the packages below.
func (h *hydration) level(
	ctx context.Context, level []*node, states map[*node][]*yaml.RNode, functions []renderstatus.Function, emit emitter,
) ([]renderstatus.Function, error) {
	outcomes := h.inOrder(ctx, len(level), emit, func(ctx context.Context, i int, emit emitter) outcome {
		var visible []*yaml.RNode
		for _, n := range level[i].preorder() {
			visible = append(visible, states[n]...)
		}
		// A package whose resources were all deleted by functions of a parent package is not rendered.
		if len(visible) == 0 {
			return outcome{}
		}
		p := newPipeline(level[i], visible, h.images, h.options, emit)
		// If a sibling fails, resources of this package may have to be restored.
		p.keepInput = len(level) > 1
		err := h.limited(ctx, func() error { return p.run(ctx) })
		return outcome{resources: p.resources, functions: p.functions, err: err}
	})
	for i, o := range outcomes {
		functions = append(functions, o.functions...)
		level[i].distribute(o.resources, states)
		if o.err != nil {
			return functions, o.err
		}
	}
	return functions, nil
}

// distribute assigns resources to their packages, which are this one and those below it. A resource of an unknown package stays
// with this package; it is nevertheless written where its annotations say.
func (n *node) distribute(resources []*yaml.RNode, states map[*node][]*yaml.RNode) {
	owners := map[string]*node{}
	for _, m := range n.preorder() {
		owners[m.location] = m
		states[m] = nil
	}
	for _, r := range resources {
		owner := owners[resource.Annotation(r, resource.PackageAnnotation)]
		if owner == nil {
			owner = n
		}
		states[owner] = append(states[owner], r)
	}
}

// levels returns this package, then the packages directly below it, and so on, one slice per level.
func (n *node) levels() [][]*node {
	var levels [][]*node
	for level := []*node{n}; len(level) > 0; {
		levels = append(levels, level)
		var next []*node
		for _, m := range level {
			next = append(next, m.subs...)
		}
		level = next
	}
	return levels
}

// preorder returns this package and all packages below it, parents before children.
func (n *node) preorder() []*node {
	order := []*node{n}
	for _, sub := range n.subs {
		order = append(order, sub.preorder()...)
	}
	return order
}
