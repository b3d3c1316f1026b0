// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"cmp"

	"go.yaml.in/yaml/v3"
)

// Copy returns a deep copy of a node; its aliases stand for the original's anchors. All nodes of the copy lie side by side
// in memory, because most of what copying costs is asking for memory. Whoever keeps one of them keeps them all.
func Copy(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	nodes := 0
	Contains(n, func(*yaml.Node) bool { nodes++; return false })
	c := Copier{nodes: make([]yaml.Node, 0, nodes), links: make([]*yaml.Node, 0, nodes)}
	return c.copy(n)
}

// Copier makes nodes that lie side by side, so that they should live equally long. The zero value is ready; it is for one
// goroutine.
type Copier struct {
	// Slab is for how many nodes memory is asked for at a time, 0 for 200.
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

// Links returns a new slice of so many nodes. What is appended to it does not run into the next one.
func (c *Copier) Links(n int) []*yaml.Node {
	if len(c.links)+n > cap(c.links) {
		c.links = make([]*yaml.Node, 0, max(cmp.Or(c.Slab, defaultSlab), n))
	}
	c.links = c.links[:len(c.links)+n]
	return c.links[len(c.links)-n : len(c.links) : len(c.links)]
}
