// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/parallel"
	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
)

// parked holds a function's input in packed form, so that the nodes exist only once while the function works on them or on
// their text. Meanwhile the resources' RNodes have no nodes and serve only as identities.
type parked struct {
	resources []*yaml.RNode
	// packed has the packed form of each resource; nil if the resource still has its nodes.
	packed []*yamlnode.Packed
}

func newParked(resources []*yaml.RNode) parked {
	return parked{resources: resources, packed: make([]*yamlnode.Packed, len(resources))}
}

// parkAll parks all resources except those that are kept or cannot be packed.
func (p *parked) parkAll(kept func(*yaml.RNode) bool) {
	_ = parallel.Each(len(p.resources), func(i int) error {
		if !kept(p.resources[i]) {
			p.park(i, func(*yamlnode.Packed) bool { return true })
		}
		return nil
	})
}

// park parks a resource and returns its nodes. It returns nil if the resource cannot be packed or may returns false.
func (p *parked) park(i int, may func(*yamlnode.Packed) bool) *yaml.Node {
	document := p.resources[i].Document()
	packed := yamlnode.Pack(document)
	if packed == nil || !may(packed) {
		return nil
	}
	p.packed[i] = packed
	p.resources[i].SetYNode(nil)
	return document
}

// before returns the original resource. The caller must not modify it.
func (p *parked) before(i int) *yaml.RNode {
	if i < len(p.packed) && p.packed[i] != nil {
		return yaml.NewRNode(p.packed[i].Node())
	}
	return p.resources[i]
}

// restoreFormatting restores comments and the order of fields in r, which the function has made of resource i.
func (p *parked) restoreFormatting(i int, r *yaml.RNode) {
	if i < len(p.packed) && p.packed[i] != nil && resource.Intact(p.packed[i], r) {
		return
	}
	resource.Restore(p.before(i), r)
}

// restore gives all parked resources their original nodes back.
func (p *parked) restore() {
	_ = parallel.Each(len(p.packed), func(i int) error {
		if p.packed[i] != nil {
			p.resources[i].SetYNode(p.packed[i].Node())
			p.packed[i] = nil
		}
		return nil
	})
}
