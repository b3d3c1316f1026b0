// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// written is the approximate size of a value as text. Shared values count at every occurrence.
type written struct {
	bytes    uint64
	indented uint64 // bytes with two spaces of indentation per level
	values   uint64
	depth    int
}

// written returns the size of a value. It stops at the limit and then returns an error.
func (g operatorGuard) written(value starlark.Value) (written, error) {
	w := writing{limit: g.limits.memory, around: map[starlark.Value]bool{}}
	if !w.visit(value, 0) {
		if w.depth > maxDepth {
			return w.written, fmt.Errorf("the value is nested more than %d deep", maxDepth)
		}
		return w.written, g.within(float64(w.bytes))
	}
	return w.written, nil
}

type writing struct {
	written
	limit  uint64
	around map[starlark.Value]bool // lists and dicts around the current value, which are not written again
}

// visit adds a value and reports whether the limits hold.
func (w *writing) visit(value starlark.Value, depth int) bool {
	w.depth = max(w.depth, depth)
	w.values++
	w.add(valueSize, depth)
	switch value := value.(type) {
	case starlark.String:
		w.add(len(value), 0)
	case starlark.Bytes:
		w.add(len(value), 0)
	case starlark.Int:
		w.add(value.BigInt().BitLen()/3, 0)
	case starlark.Tuple:
		return w.elements(value, depth)
	case *starlark.List:
		return w.inside(value, func() bool { return w.elements(value, depth) })
	case *starlark.Set:
		return w.elements(value, depth)
	case *starlark.Dict:
		return w.inside(value, func() bool {
			for key, element := range value.Entries() {
				if !w.visit(key, depth+1) || !w.visit(element, depth+1) {
					return false
				}
			}
			return true
		})
	case *starlarkstruct.Struct:
		for _, name := range value.AttrNames() {
			element, _ := value.Attr(name)
			if !w.visit(element, depth+1) {
				return false
			}
		}
	}
	return w.bytes <= w.limit && w.depth <= maxDepth
}

func (w *writing) add(bytes, depth int) {
	w.bytes += uint64(bytes)              //nolint:gosec // a length
	w.indented += uint64(bytes + 2*depth) //nolint:gosec // a length
}

func (w *writing) elements(values starlark.Iterable, depth int) bool {
	if w.depth > maxDepth {
		return false
	}
	for element := range starlark.Elements(values) {
		if !w.visit(element, depth+1) {
			return false
		}
	}
	return w.bytes <= w.limit
}

func (w *writing) inside(value starlark.Value, visit func() bool) bool {
	if w.around[value] {
		return true
	}
	w.around[value] = true
	defer delete(w.around, value)
	return w.depth <= maxDepth && visit()
}
