// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"math"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Packed is an immutable copy of a node in a fifth of the memory.
type Packed struct {
	nodes []packedNode
	// extras holds the properties that few nodes have.
	extras []extra
	// styles is the bitwise OR of all nodes' styles. hasFoot reports whether any node has a foot comment.
	styles  uint8
	hasFoot bool
}

// packedNode is a node, followed in Packed.nodes by the nodes below it, depth first.
type packedNode struct {
	value string
	// below is the number of direct children. extra is an index into extras plus one; 0 means none.
	below, extra uint32
	line         uint32
	column       uint16
	style        uint8
	// kindAndTag holds the kind in its five low bits and the index into packedTags in the upper bits.
	kindAndTag uint8
}

type extra struct {
	tag string
	Comments
}

// Comments are the comments of a node.
type Comments struct{ Head, Line, Foot string }

// CommentsOf returns the comments of a node.
func CommentsOf(n *yaml.Node) Comments { return Comments{n.HeadComment, n.LineComment, n.FootComment} }

const kindBits = 5

// packedTags are the common tags. A node with another tag has an extra.
var packedTags = [...]string{"", "!!str", "!!map", "!!seq", "!!int", "!!bool", "!!null", "!!float"}

// Pack packs a node. It returns nil for nil, and for a node with aliases, anchors, or a property that exceeds the packed size.
func Pack(n *yaml.Node) *Packed {
	if n == nil {
		return nil
	}
	to, _ := packers.Get().(*Packed)
	defer packers.Put(to)
	to.nodes, to.extras, to.styles, to.hasFoot = to.nodes[:0], to.extras[:0], 0, false
	if !to.pack(n) {
		return nil
	}
	return &Packed{nodes: slices.Clone(to.nodes), extras: slices.Clone(to.extras), styles: to.styles, hasFoot: to.hasFoot}
}

// packers pools the buffers for packing nodes, because the number of nodes is not known in advance.
var packers = sync.Pool{New: func() any { return new(Packed) }}

// Styles returns the bitwise OR of all nodes' styles.
func (p *Packed) Styles() yaml.Style { return yaml.Style(p.styles) }

// HasFootComments reports whether any node has a foot comment.
func (p *Packed) HasFootComments() bool { return p.hasFoot }

func hasExtra(n *yaml.Node) bool {
	return n.HeadComment != "" || n.LineComment != "" || n.FootComment != "" || !slices.Contains(packedTags[:], n.Tag)
}

// pack appends n and the nodes below it. It returns false if one cannot be packed.
func (p *Packed) pack(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Line < 0 || n.Line > math.MaxUint32 || n.Column < 0 || n.Column > math.MaxUint16 ||
		n.Kind >= 1<<kindBits || n.Style > math.MaxUint8 {
		return false
	}
	own := packedNode{
		value: n.Value, below: uint32(len(n.Content)), line: uint32(n.Line), column: uint16(n.Column), style: uint8(n.Style), //nolint:gosec // it fits
		kindAndTag: uint8(n.Kind) | uint8(max(slices.Index(packedTags[:], n.Tag), 0))<<kindBits, //nolint:gosec // as above
	}
	if hasExtra(n) {
		p.extras = append(p.extras, extra{n.Tag, CommentsOf(n)})
		own.extra = uint32(len(p.extras)) //nolint:gosec // not more than nodes
		p.hasFoot = p.hasFoot || n.FootComment != ""
	}
	p.styles |= own.style
	p.nodes = append(p.nodes, own)
	for _, below := range n.Content {
		if !p.pack(below) {
			return false
		}
	}
	return true
}

// Node returns an unpacked copy.
func (p *Packed) Node() *yaml.Node {
	u := unpacking{Packed: p, to: Copier{nodes: make([]yaml.Node, 0, len(p.nodes)), links: make([]*yaml.Node, 0, len(p.nodes))}}
	return u.node()
}

// Reader iterates over the nodes of a Packed, depth first, parents before children.
type Reader struct {
	packed *Packed
	next   int
}

// Reader returns a Reader at the first node.
func (p *Packed) Reader() Reader { return Reader{packed: p} }

// Seen describes a node. Below is the number of its direct children, which follow it.
type Seen struct {
	Kind  yaml.Kind
	Below int
	Value string
	Comments
}

// Peek returns the next node without advancing. It panics after the last node.
func (r *Reader) Peek() Seen {
	n := &r.packed.nodes[r.next]
	seen := Seen{Kind: n.kind(), Below: int(n.below), Value: n.value}
	if n.extra > 0 {
		seen.Comments = r.packed.extras[n.extra-1].Comments
	}
	return seen
}

// Next returns the next node and advances. It panics after the last node.
func (r *Reader) Next() Seen {
	seen := r.Peek()
	r.next++
	return seen
}

func (n *packedNode) kind() yaml.Kind { return yaml.Kind(n.kindAndTag & (1<<kindBits - 1)) }

type unpacking struct {
	*Packed
	to   Copier
	next int
}

func (u *unpacking) node() *yaml.Node {
	from := &u.nodes[u.next]
	u.next++
	n := u.to.Node()
	*n = yaml.Node{
		Kind: from.kind(), Tag: packedTags[from.kindAndTag>>kindBits], Style: yaml.Style(from.style),
		Value: from.value, Line: int(from.line), Column: int(from.column),
	}
	if from.extra > 0 {
		e := &u.extras[from.extra-1]
		n.Tag, n.HeadComment, n.LineComment, n.FootComment = e.tag, e.Head, e.Line, e.Foot
	}
	if from.below > 0 {
		n.Content = u.to.Links(int(from.below))
		for i := range n.Content {
			n.Content[i] = u.node()
		}
	}
	return n
}
