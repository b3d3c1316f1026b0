// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"errors"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

var errOneArgument = errors.New("want one argument without a name") // an argument had the form *args

// operand is the right operand of an operation that copies the left operand. It exists only until the operation, which charges
// the left operand.
type operand struct {
	starlark.Value
	guard operatorGuard
}

var _ starlark.HasBinary = operand{}

// Binary applies the operation to left and the wrapped value.
func (o operand) Binary(op syntax.Token, left starlark.Value, side starlark.Side) (starlark.Value, error) {
	if side != starlark.Right {
		return nil, nil
	}
	if o.guard.meter.exceedsWith(uint64(sizeOf(left))) { //nolint:gosec // a length
		return nil, o.guard.meter.error()
	}
	return starlark.Binary(op, left, o.Value)
}

// tupleOperand is an operand that can also be added to a list in place.
type tupleOperand struct{ operand }

// Iterate iterates over the tuple.
func (o tupleOperand) Iterate() starlark.Iterator { return starlark.Iterate(o.Value) }

// operand charges the right operand of an operation that creates a new value.
func (g operatorGuard) operand(
	thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	value, err := g.charge(thread, b, args, kwargs)
	if err != nil {
		return nil, err
	}
	inPlace := b.Name() == assignmentGuard
	switch value := value.(type) {
	case starlark.String, starlark.Bytes, *starlark.Set:
		return operand{value, g}, nil
	case starlark.Tuple:
		return tupleOperand{operand{value, g}}, nil
	case *starlark.List, *starlark.Dict:
		if !inPlace {
			return operand{value, g}, nil
		}
	}
	return value, nil
}

// formatted checks the right operand of a string formatting and charges its formatted size.
func (g operatorGuard) formatted(
	_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	if len(args) != 1 || len(kwargs) > 0 {
		return nil, errOneArgument
	}
	if dict, ok := args[0].(*starlark.Dict); ok {
		return &formattedDict{Dict: dict, guard: g}, nil
	}
	if _, ok := args[0].(starlark.Int); ok { // the operation is a modulo
		return args[0], nil
	}
	w, err := g.written(args[0])
	if err != nil {
		return nil, err
	}
	if g.meter.exceedsWith(w.bytes) {
		return nil, g.meter.error()
	}
	return args[0], nil
}

// formattedDict charges the values that a formatting takes from a dict, possibly repeatedly.
type formattedDict struct {
	*starlark.Dict
	guard operatorGuard
	taken uint64 // bytes
}

// Get returns a value of the dict, or an error if too much has been taken. The formatting drops the error, so the meter records
// it.
func (d *formattedDict) Get(key starlark.Value) (starlark.Value, bool, error) {
	value, found, err := d.Dict.Get(key)
	if err != nil || !found {
		return value, found, err
	}
	w, err := d.guard.written(value)
	if err == nil {
		d.taken += w.bytes
		err = d.guard.within(float64(d.taken))
	}
	if err == nil && d.guard.meter.exceedsWith(w.bytes) {
		err = d.guard.meter.error()
	}
	if err != nil {
		d.guard.meter.reached = err
		return nil, false, err
	}
	return value, found, nil
}

// formattedInPlace makes the meter count at the next charge, because the size that an in-place formatting copies is unknown.
func (g operatorGuard) formattedInPlace(
	thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	g.meter.recordUnknown()
	return g.formatted(thread, b, args, kwargs)
}

// slice wraps a list so that slicing it is charged.
func (g operatorGuard) slice(
	_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple,
) (starlark.Value, error) {
	if list, ok := args[0].(*starlark.List); ok {
		return sliced{list, g}, nil
	}
	return args[0], nil
}

type sliced struct {
	*starlark.List
	guard operatorGuard
}

// Slice returns a slice of the list.
func (s sliced) Slice(start, end, step int) starlark.Value {
	if elements := (end - start) / step; s.guard.meter.exceedsWith(uint64(max(elements, 0) * valueSize)) {
		s.guard.meter.reached = s.guard.meter.error()
		s.guard.meter.thread.Cancel(s.guard.meter.reached.Error())
		return starlark.None
	}
	return s.List.Slice(start, end, step)
}

// attributes wraps a value so that its methods check their bounds. It exists only until the attribute access.
type attributes struct {
	starlark.HasAttrs
	guard    operatorGuard
	escaping bool // the method is not called immediately, so its results are charged
}

// Attr returns an attribute of the value.
func (a attributes) Attr(name string) (starlark.Value, error) {
	value, err := a.HasAttrs.Attr(name)
	if b, ok := value.(*starlark.Builtin); ok && err == nil {
		return a.guard.guarded(b, bounds[name], a.escaping), nil
	}
	return value, err
}

func (g operatorGuard) attributes(
	_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple,
) (starlark.Value, error) {
	if value, ok := args[0].(starlark.HasAttrs); ok {
		return attributes{value, g, b.Name() == escapeGuard}, nil
	}
	return args[0], nil
}

// getattr replaces the built-in getattr. The methods that it returns check their bounds.
func (g operatorGuard) getattr(
	thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	value, err := starlark.Call(thread, starlark.Universe["getattr"], args, kwargs)
	if b, ok := value.(*starlark.Builtin); ok && err == nil {
		return g.guarded(b, bounds[b.Name()], true), nil
	}
	return value, err
}

// predeclared returns the guards and the built-ins with limits.
func (g operatorGuard) predeclared() starlark.StringDict {
	all := starlark.StringDict{}
	for name, impl := range map[string]func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error){
		"range": g.limits.rangeWithin, "sorted": g.sorted, "getattr": g.getattr,
		callGuard: g.charge, additionGuard: g.operand, assignmentGuard: g.operand, multiplicationGuard: g.factor,
		formatGuard: g.formatted, formatInPlaceGuard: g.formattedInPlace, sliceGuard: g.slice, methodGuard: g.attributes, escapeGuard: g.attributes,
	} {
		all[name] = starlark.NewBuiltin(name, impl)
	}
	for name, check := range universeBounds {
		if b, ok := starlark.Universe[name].(*starlark.Builtin); ok {
			all[name] = g.guarded(b, check, true)
		}
	}
	return all
}

// load implements load() with guarded functions.
func (g operatorGuard) load(thread *starlark.Thread, module string) (starlark.StringDict, error) {
	members, err := loadModule(thread, module)
	if err != nil {
		return nil, err
	}
	guarded := make(starlark.StringDict, len(members))
	for name, member := range members {
		if b, ok := member.(*starlark.Builtin); ok {
			member = g.guarded(b, moduleBounds[name], true)
		}
		guarded[name] = member
	}
	return guarded, nil
}
