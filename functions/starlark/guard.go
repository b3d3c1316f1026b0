// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"fmt"
	"math/bits"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Names of the built-ins that check operands and arguments. Scripts cannot call them, because the names are not identifiers.
const (
	additionGuard       = "+"
	assignmentGuard     = "+="
	formatGuard         = "%"
	formatInPlaceGuard  = "%="
	multiplicationGuard = "*"
	callGuard           = "()"
	sliceGuard          = "[:]"
	methodGuard         = "."
	escapeGuard         = ".."
)

var operatorGuards = map[syntax.Token]string{
	syntax.PLUS: additionGuard, syntax.PLUS_EQ: assignmentGuard,
	syntax.PIPE: additionGuard, syntax.PIPE_EQ: assignmentGuard,
	syntax.AMP: additionGuard, syntax.AMP_EQ: assignmentGuard,
	syntax.MINUS: additionGuard, syntax.MINUS_EQ: assignmentGuard,
	syntax.CIRCUMFLEX: additionGuard, syntax.CIRCUMFLEX_EQ: assignmentGuard,
	syntax.PERCENT: formatGuard, syntax.PERCENT_EQ: formatInPlaceGuard,
	syntax.STAR: multiplicationGuard, syntax.STAR_EQ: multiplicationGuard,
}

// guardOperators rewrites a script so that operands of operations that create large values, results of built-ins, arguments of
// some methods, and receivers of methods are arguments of guards. The guards check limits before a result is created that far
// exceeds them: [0] * 1000000000 is a single step that takes 16 GB, and 30 times s += s turn one byte into 1 GB.
func guardOperators(file *syntax.File) {
	w := guardWriter{made: map[*syntax.CallExpr]bool{}, methods: map[*syntax.DotExpr]bool{}, targets: map[syntax.Expr]bool{}}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.BinaryExpr:
			node.Y = w.guarded(node.Op, node.Y)
			if node.Op == syntax.PERCENT {
				node.X = w.call(callGuard, node.X)
			}
		case *syntax.AssignStmt:
			node.RHS = w.guarded(node.Op, node.RHS)
			w.target(node.LHS)
		case *syntax.ForStmt:
			w.target(node.Vars)
		case *syntax.ForClause:
			w.target(node.Vars)
		case *syntax.SliceExpr:
			node.X = w.call(sliceGuard, node.X)
		case *syntax.DotExpr:
			switch {
			case w.targets[node]:
			case !w.methods[node]:
				node.X = w.call(escapeGuard, node.X)
			case bounds[node.Name.Name] != nil:
				node.X = w.call(methodGuard, node.X)
			}
		case *syntax.CallExpr:
			w.guardCall(node)
		}
		return true
	})
}

// guardWriter inserts guards into a script.
type guardWriter struct {
	made    map[*syntax.CallExpr]bool // calls created by the writer
	methods map[*syntax.DotExpr]bool  // methods that are called
	targets map[syntax.Expr]bool      // assignment targets
}

func (w guardWriter) call(guard string, operand syntax.Expr) *syntax.CallExpr {
	start, end := operand.Span()
	guarded := &syntax.CallExpr{
		Fn:     &syntax.Ident{NamePos: start, Name: guard},
		Lparen: start, Args: []syntax.Expr{operand}, Rparen: end,
	}
	w.made[guarded] = true
	return guarded
}

func (w guardWriter) guarded(op syntax.Token, operand syntax.Expr) syntax.Expr {
	if guard, ok := operatorGuards[op]; ok {
		return w.call(guard, operand)
	}
	return operand
}

// target records the targets of an assignment.
func (w guardWriter) target(expr syntax.Expr) {
	switch expr := expr.(type) {
	case *syntax.DotExpr:
		w.targets[expr] = true
	case *syntax.ParenExpr:
		w.target(expr.X)
	case *syntax.TupleExpr:
		for _, element := range expr.List {
			w.target(element)
		}
	case *syntax.ListExpr:
		for _, element := range expr.List {
			w.target(element)
		}
	}
}

func (w guardWriter) guardCall(node *syntax.CallExpr) {
	if method, ok := node.Fn.(*syntax.DotExpr); ok {
		w.methods[method] = true
	}
	if w.made[node] || !mayBeBuiltin(node.Fn) {
		return
	}
	inner := *node
	w.made[&inner] = true
	if method, ok := inner.Fn.(*syntax.DotExpr); ok && slices.Contains([]string{"extend", "update"}, method.Name.Name) && len(inner.Args) == 1 {
		inner.Args = []syntax.Expr{w.call(callGuard, inner.Args[0])}
	}
	*node = *w.call(callGuard, &inner)
	w.made[node] = true
}

// mayBeBuiltin reports whether a callee may be a built-in, or a method of one, whose results are not charged elsewhere.
func mayBeBuiltin(callee syntax.Expr) bool {
	switch callee := callee.(type) {
	case *syntax.DotExpr:
		return true
	case *syntax.Ident:
		return starlark.Universe.Has(callee.Name) && universeBounds[callee.Name] == nil
	}
	return false
}

type operatorGuard struct {
	limits scriptLimits
	meter  *meter
}

// charge returns its argument, or an error if the script has too little memory left for it.
func (g operatorGuard) charge(
	_ *starlark.Thread, of *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	if len(args) != 1 || len(kwargs) > 0 {
		return nil, errOneArgument
	}
	if of.Name() == callGuard && args[0].Type() == "range" { // a range stores no elements
		return args[0], nil
	}
	if g.meter.exceedsWith(uint64(sizeOf(args[0]))) { //nolint:gosec // a length
		return nil, g.meter.error()
	}
	return args[0], nil
}

// sorted replaces the built-in sorted. It charges the keys.
func (g operatorGuard) sorted(
	thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	if err := lengthBound(g, nil, args, nil); err != nil {
		return nil, err
	}
	held := len(g.meter.held)
	defer func() { g.meter.held = slices.Delete(g.meter.held, held, len(g.meter.held)) }()
	for i, kwarg := range kwargs {
		key, ok := kwarg[1].(starlark.Callable)
		if kwarg[0] != starlark.String("key") || !ok {
			continue
		}
		kwargs[i] = starlark.Tuple{kwarg[0], starlark.NewBuiltin(key.Name(),
			func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
				value, err := starlark.Call(thread, key, args, nil)
				if err != nil {
					return nil, err
				}
				g.meter.held = append(g.meter.held, value)
				if g.meter.exceedsWith(uint64(sizeOf(value))) { //nolint:gosec // a length
					return nil, g.meter.error()
				}
				return value, nil
			})}
	}
	return starlark.Call(thread, starlark.Universe["sorted"], args, kwargs)
}

// factor wraps the right operand of a multiplication, so that the left operand can be checked too.
func (g operatorGuard) factor(
	_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple,
) (starlark.Value, error) {
	return factor{Value: args[0], limits: g.limits}, nil
}

// factor is the right operand of a multiplication. It exists only until the multiplication.
type factor struct {
	starlark.Value
	limits scriptLimits
}

var _ starlark.HasBinary = factor{}

// Binary multiplies left by the factor.
func (f factor) Binary(op syntax.Token, left starlark.Value, side starlark.Side) (starlark.Value, error) {
	if op != syntax.STAR || side != starlark.Right {
		return nil, nil
	}
	if err := f.limits.checkProduct(left, f.Value); err != nil {
		return nil, err
	}
	return starlark.Binary(op, left, f.Value)
}

func (limits scriptLimits) checkProduct(x, y starlark.Value) error {
	if _, ok := x.(starlark.Int); ok {
		x, y = y, x
	}
	times, ok := y.(starlark.Int)
	if !ok {
		return nil
	}
	if number, ok := x.(starlark.Int); ok {
		if number.BigInt().BitLen()+times.BigInt().BitLen() > limits.bits {
			return fmt.Errorf("the product of two numbers has more than %d bits, which is the limit", limits.bits)
		}
		return nil
	}
	count, ok := times.Uint64()
	if !ok {
		return nil // negative, or rejected by the interpreter
	}
	if high, total := bits.Mul64(uint64(sizeOf(x)), count); high != 0 || total > limits.memory { //nolint:gosec // a length
		return fmt.Errorf("the repetition takes more than %d MiB of memory, which is the limit", limits.memory>>20)
	}
	return nil
}

// sizeOf returns the size in bytes of a string or collection, without the elements of a collection, but with the strings of a
// tuple.
func sizeOf(value starlark.Value) int {
	switch value := value.(type) {
	case starlark.String:
		return len(value)
	case starlark.Bytes:
		return len(value)
	case *starlark.Dict:
		return value.Len() * entrySize
	case *starlark.Set:
		return value.Len() * entrySize
	case starlark.Tuple:
		size := len(value) * valueSize
		for _, element := range value {
			if text, ok := element.(starlark.String); ok {
				size += len(text)
			}
		}
		return size
	case starlark.Sequence:
		return value.Len() * valueSize
	}
	return 0
}

// rangeWithin replaces the built-in range and limits its length. A range takes no memory itself, but collections created from
// it do.
func (limits scriptLimits) rangeWithin(
	thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	result, err := starlark.Call(thread, starlark.Universe["range"], args, kwargs)
	if err != nil {
		return nil, err
	}
	if length := starlark.Len(result); length > limits.length {
		return nil, fmt.Errorf("range: %d elements, at most %d are allowed", length, limits.length)
	}
	return result, nil
}
