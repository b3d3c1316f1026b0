// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"fmt"
	"reflect"
	"unsafe"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// meter measures the memory of a script, without the rest of the process. It sums up what the script allocates. When the sum
// might exceed the limit, it counts the memory reachable from the script's frames. Only the thread's goroutine may use it.
type meter struct {
	thread *starlark.Thread
	limit  uint64           // bytes
	live   uint64           // bytes at the last count
	made   uint64           // known bytes allocated since the last count
	held   []starlark.Value // the ResourceList, and values that built-ins hold while they call the script

	reached error // the exceeded limit, if the operation cannot return an error
}

// countShare: between two counts, a script may allocate the limit divided by countShare, because counting is slow. It may
// exceed the limit by that amount.
const countShare = 16

// exceedsWith adds more bytes to what the script has allocated, and reports whether the script exceeds its limit.
func (m *meter) exceedsWith(more uint64) bool {
	m.made += more
	if m.live+m.made <= m.limit || m.made < m.limit/countShare {
		return false
	}
	m.live, m.made = m.count(), more
	return m.live+m.made > m.limit
}

// recordUnknown records an allocation of unknown size, so that the next allocation triggers a count.
func (m *meter) recordUnknown() { m.made += m.limit / countShare }

func (m *meter) error() error {
	return fmt.Errorf("the script uses more than %d MiB of memory, which is the limit", m.limit>>20)
}

// count returns the reachable memory in bytes. It stops counting above the limit.
func (m *meter) count() uint64 {
	w := walk{seen: map[any]struct{}{}}
	w.next = append(w.next, m.held...)
	for depth := range m.thread.CallStackDepth() {
		frame := m.thread.DebugFrame(depth)
		w.next = append(w.next, frame.Callable())
		if function, ok := frame.Callable().(*starlark.Function); ok {
			w.next = append(w.next, frameValues(frame, function)...)
		}
	}
	for len(w.next) > 0 && w.size <= m.limit {
		value := w.next[len(w.next)-1]
		w.next = w.next[:len(w.next)-1]
		w.visit(value)
	}
	return w.size
}

// frameValues returns the local variables of a function and its operand stack, which for example holds the elements of an
// unfinished list. The interpreter stores both in one array and exports only the first part. TestMemoryOnTheStack fails if this
// changes.
func frameValues(frame starlark.DebugFrame, function *starlark.Function) []starlark.Value {
	locals := reflect.ValueOf(frame).Elem().FieldByName("locals")
	if locals.IsNil() {
		return nil
	}
	code := reflect.ValueOf(function).Elem().FieldByName("funcode").Elem()
	length := code.FieldByName("Locals").Len() + int(code.FieldByName("MaxStack").Int())
	return unsafe.Slice((*starlark.Value)(locals.UnsafePointer()), length) //nolint:gosec // see above
}

// walk visits values, each once.
type walk struct {
	seen map[any]struct{} // pointers
	next []starlark.Value
	size uint64 // approximate bytes
}

const (
	valueSize = 16 // bytes of a value in a list
	entrySize = 80 // bytes of a key and its value
	longText  = 64 // minimum length in bytes of strings that are recorded as seen
)

func (w *walk) visit(value starlark.Value) {
	switch value := value.(type) {
	case nil, starlark.NoneType, starlark.Bool, starlark.Float:
	case starlark.String:
		w.text(string(value))
	case starlark.Bytes:
		w.text(string(value))
	case starlark.Int:
		if _, small := value.Int64(); !small {
			w.size += uint64(value.BigInt().BitLen() / 8) //nolint:gosec // a length
		}
	case starlark.Tuple:
		if len(value) > 0 && w.markSeen(&value[0], len(value)*valueSize) {
			w.next = append(w.next, value...)
		}
	case *starlark.List:
		if w.markSeen(value, value.Len()*valueSize) {
			for i := range value.Len() {
				w.next = append(w.next, value.Index(i))
			}
		}
	case *starlark.Dict:
		if w.markSeen(value, value.Len()*entrySize) {
			for key, element := range value.Entries() {
				w.next = append(w.next, key, element)
			}
		}
	case *starlark.Set:
		if w.markSeen(value, value.Len()*entrySize) {
			for element := range value.Elements() {
				w.next = append(w.next, element)
			}
		}
	case *starlarkstruct.Struct:
		if w.markSeen(value, 0) {
			for _, name := range value.AttrNames() {
				element, _ := value.Attr(name)
				w.next = append(w.next, element)
			}
		}
	case *starlark.Function:
		w.function(value)
	case *starlark.Builtin:
		w.next = append(w.next, value.Receiver())
	case factor:
		w.next = append(w.next, value.Value)
	case operand:
		w.next = append(w.next, value.Value)
	case tupleOperand:
		w.next = append(w.next, value.Value)
	case sliced:
		w.next = append(w.next, value.List)
	case *formattedDict:
		w.next = append(w.next, value.Dict)
	case attributes:
		w.next = append(w.next, value.HasAttrs)
	default:
		if value.Type() == "cell" { // a variable shared with nested functions; it contains only its value
			w.next = append(w.next, *(*starlark.Value)(reflect.ValueOf(value).UnsafePointer()))
		}
	}
}

// markSeen reports whether a value is seen for the first time, and if so counts it.
func (w *walk) markSeen(at any, size int) bool {
	if _, again := w.seen[at]; again {
		return false
	}
	w.seen[at] = struct{}{}
	w.size += uint64(longText + size) //nolint:gosec // a length
	return true
}

func (w *walk) text(text string) {
	if len(text) < longText {
		w.size += uint64(valueSize + len(text))
		return
	}
	w.markSeen(unsafe.StringData(text), len(text)) //nolint:gosec // only compared
}

func (w *walk) function(f *starlark.Function) {
	if !w.markSeen(f, 0) {
		return
	}
	for i := range f.NumFreeVars() {
		_, value := f.FreeVar(i)
		w.next = append(w.next, value)
	}
	for i := range f.NumParams() {
		w.next = append(w.next, f.ParamDefault(i))
	}
	if globals := f.Globals(); len(globals) > 0 {
		for _, value := range globals {
			w.next = append(w.next, value)
		}
	}
}
