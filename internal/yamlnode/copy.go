// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"cmp"

	"go.yaml.in/yaml/v3"
)

// Copy returns a deep copy of n. Aliases in the copy refer to the anchors of the original. All nodes of the copy share one
// allocation, which is most of the cost of copying; a reference to any of them keeps all in memory.
func Copy(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	nodes := 0
	Contains(n, func(*yaml.Node) bool { nodes++; return false })
	c := Copier{nodes: make([]yaml.Node, 0, nodes), links: make([]*yaml.Node, 0, nodes)}
	return c.copy(n)
}

// Copier allocates nodes in blocks. A reference to one node keeps its whole block in memory, so the nodes of one Copier should
// have a similar lifetime. The zero value is ready to use. Not safe for concurrent use.
type Copier struct {
	// Slab is the number of nodes per block. 0 means 200.
	Slab  int
	nodes []yaml.Node
	links []*yaml.Node
}

const defaultSlab = 200

func (c *Copier) copy(n *yaml.Node) *yaml.Node {
	own := c.Node()
	*own = *n
	if len(n.Content) == 0 {
		return own
	}
	own.Content = c.Links(len(n.Content))
	for i, below := range n.Content {
		own.Content[i] = c.copy(below)
	}
	return own
}

// Node returns a new node.
func (c *Copier) Node() *yaml.Node {
	if len(c.nodes) == cap(c.nodes) {
		c.nodes = make([]yaml.Node, 0, cmp.Or(c.Slab, defaultSlab))
	}
	c.nodes = c.nodes[:len(c.nodes)+1]
	return &c.nodes[len(c.nodes)-1]
}

// Links returns a new slice of length and capacity n.
func (c *Copier) Links(n int) []*yaml.Node {
	if len(c.links)+n > cap(c.links) {
		c.links = make([]*yaml.Node, 0, max(cmp.Or(c.Slab, defaultSlab), n))
	}
	c.links = c.links[:len(c.links)+n]
	return c.links[len(c.links)-n : len(c.links) : len(c.links)]
}
