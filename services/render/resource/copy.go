// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import "sigs.k8s.io/kustomize/kyaml/yaml"

// Copy returns a deep copy of a node, as kyaml's CopyYNode does, with all nodes of it side by side in memory: most of what
// copying costs is asking for memory, which is done twice instead of for each node. Whoever keeps one of the nodes keeps
// them all.
func Copy(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	s := slab{}
	s.nodes = make([]yaml.Node, 0, s.count(n))
	s.links = make([]*yaml.Node, 0, cap(s.nodes))
	return s.copy(n)
}

// slab is memory for the nodes of a copy, and for the links from each to those below.
type slab struct {
	nodes []yaml.Node
	links []*yaml.Node
}

func (s *slab) count(n *yaml.Node) int {
	nodes := 1
	for _, below := range n.Content {
		nodes += s.count(below)
	}
	return nodes
}

func (s *slab) copy(n *yaml.Node) *yaml.Node {
	s.nodes = append(s.nodes, *n)
	c := &s.nodes[len(s.nodes)-1]
	if len(n.Content) == 0 {
		return c
	}
	first := len(s.links)
	s.links = s.links[:first+len(n.Content)]
	// What is added to one node later must not run into the next one's.
	c.Content = s.links[first:len(s.links):len(s.links)]
	for i, below := range n.Content {
		c.Content[i] = s.copy(below)
	}
	return c
}
