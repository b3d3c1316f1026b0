// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/parallel"
	"github.com/krmfn/krmfn/services/render/resource"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// parked are the resources that a function has got, as they were: packed, so that the nodes are in memory once while the
// function works on them, or on their text. Their RNodes have no nodes meanwhile, and stand only for what they are.
type parked struct {
	resources []*yaml.RNode
	// packed are those of the same places; nil for one that has its nodes still.
	packed []*yamlnode.Packed
}

func newParked(resources []*yaml.RNode) parked {
	return parked{resources: resources, packed: make([]*yamlnode.Packed, len(resources))}
}

// all parks all resources, but for those that are kept, and those that cannot be packed.
func (p *parked) all(kept func(*yaml.RNode) bool) {
	_ = parallel.Each(len(p.resources), func(i int) error {
		if !kept(p.resources[i]) {
			p.take(i, func(*yamlnode.Packed) bool { return true })
		}
		return nil
	})
}

// take parks a resource and returns its nodes; nil where it cannot be packed, or may not by what it is.
func (p *parked) take(i int, may func(*yamlnode.Packed) bool) *yaml.Node {
	document := p.resources[i].Document()
	packed := yamlnode.Pack(document)
	if packed == nil || !may(packed) {
		return nil
	}
	p.packed[i] = packed
	p.resources[i].SetYNode(nil)
	return document
}

// before returns a resource as it was, for looking only.
func (p *parked) before(i int) *yaml.RNode {
	if i < len(p.packed) && p.packed[i] != nil {
		return yaml.NewRNode(p.packed[i].Node())
	}
	return p.resources[i]
}

// bringBack restores what a resource has lost that was another one before.
func (p *parked) bringBack(i int, r *yaml.RNode) {
	if i < len(p.packed) && p.packed[i] != nil && resource.Intact(p.packed[i], r) {
		return
	}
	resource.Restore(p.before(i), r)
}

// restore gives all resources their nodes back, as they were.
func (p *parked) restore() {
	_ = parallel.Each(len(p.packed), func(i int) error {
		if p.packed[i] != nil {
			p.resources[i].SetYNode(p.packed[i].Node())
			p.packed[i] = nil
		}
		return nil
	})
}
