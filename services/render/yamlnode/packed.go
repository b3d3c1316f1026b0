// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"math"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Packed is a copy of a node in a fifth of the memory, for nodes that are seldom looked at again. It does not change.
type Packed struct {
	nodes []packedNode
	// extras are what few nodes have.
	extras []extra
	// styles are those of all nodes together, and feet says that one has a foot comment.
	styles uint8
	feet   bool
}

// packedNode is a node; those below it follow it.
type packedNode struct {
	value string
	// below is how many nodes are directly below; extra is one more than the place of what else it has, 0 for nothing.
	below, extra uint32
	line         uint32
	column       uint16
	style        uint8
	// kindAndTag is the kind, in its five lowest bits, and above it the place of the tag.
	kindAndTag uint8
}

type extra struct {
	tag string
	Comments
}

// Comments are those of a node.
type Comments struct{ Head, Line, Foot string }

// CommentsOf returns the comments of a node.
func CommentsOf(n *yaml.Node) Comments { return Comments{n.HeadComment, n.LineComment, n.FootComment} }

const kindBits = 5

// packedTags are the tags that most nodes have. Other ones are extras.
var packedTags = [...]string{"", "!!str", "!!map", "!!seq", "!!int", "!!bool", "!!null", "!!float"}

// Pack packs a node; nil where it has aliases or anchors, or what does not fit.
func Pack(n *yaml.Node) *Packed {
	if n == nil {
		return nil
	}
	to, _ := packers.Get().(*Packed)
	defer packers.Put(to)
	to.nodes, to.extras, to.styles, to.feet = to.nodes[:0], to.extras[:0], 0, false
	if !to.pack(n) {
		return nil
	}
	return &Packed{nodes: slices.Clone(to.nodes), extras: slices.Clone(to.extras), styles: to.styles, feet: to.feet}
}

// packers keep the memory in which nodes are packed whose number is not known yet.
var packers = sync.Pool{New: func() any { return new(Packed) }}

// Styles returns the styles of all nodes together.
func (p *Packed) Styles() yaml.Style { return yaml.Style(p.styles) }

// HasFootComments tells whether a node has a foot comment.
func (p *Packed) HasFootComments() bool { return p.feet }

func hasExtra(n *yaml.Node) bool {
	return n.HeadComment != "" || n.LineComment != "" || n.FootComment != "" || !slices.Contains(packedTags[:], n.Tag)
}

// pack appends a node and those below it, and tells whether all can be packed.
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
		p.feet = p.feet || n.FootComment != ""
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

// Node returns a copy of the node that was packed, as Copy does.
func (p *Packed) Node() *yaml.Node {
	u := unpacking{Packed: p, to: Copier{nodes: make([]yaml.Node, 0, len(p.nodes)), links: make([]*yaml.Node, 0, len(p.nodes))}}
	return u.node()
}

// Reader goes through the nodes of a Packed, each before those below it.
type Reader struct {
	packed *Packed
	next   int
}

// Reader returns one that is before the first node.
func (p *Packed) Reader() Reader { return Reader{packed: p} }

// Seen is what a Reader tells of a node: below is how many nodes are directly below, which come next.
type Seen struct {
	Kind  yaml.Kind
	Below int
	Value string
	Comments
}

// Peek returns the next node and does not go on. There must be one.
func (r *Reader) Peek() Seen {
	n := &r.packed.nodes[r.next]
	seen := Seen{Kind: n.kind(), Below: int(n.below), Value: n.value}
	if n.extra > 0 {
		seen.Comments = r.packed.extras[n.extra-1].Comments
	}
	return seen
}

// Next returns the next node and goes on. There must be one.
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
