// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"fmt"
	"math/bits"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// The names of the built-ins that look at the right operand of every addition and multiplication of a script. No script
// can spell them.
const (
	additionGuard       = "+"
	multiplicationGuard = "*"
)

// guardOperators makes the right operand of every addition and multiplication the argument of a guard, so that a limit
// is seen before a result is made that goes far beyond it: [0] * 1000000000 is a single step that takes 16 GB, and 30
// times s += s make 1 GB of one byte.
func guardOperators(file *syntax.File) {
	guards := map[syntax.Token]string{
		syntax.PLUS: additionGuard, syntax.PLUS_EQ: additionGuard,
		syntax.STAR: multiplicationGuard, syntax.STAR_EQ: multiplicationGuard,
	}
	guarded := func(op syntax.Token, operand syntax.Expr) syntax.Expr {
		guard, ok := guards[op]
		if !ok {
			return operand
		}
		start, end := operand.Span()
		return &syntax.CallExpr{
			Fn:     &syntax.Ident{NamePos: start, Name: guard},
			Lparen: start, Args: []syntax.Expr{operand}, Rparen: end,
		}
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.BinaryExpr:
			node.Y = guarded(node.Op, node.Y)
		case *syntax.AssignStmt:
			node.RHS = guarded(node.Op, node.RHS)
		}
		return true
	})
}

type operatorGuard struct {
	limits scriptLimits
	growth *heapGrowth
}

// addend lets a right operand of an addition pass, unless it is big and there is too little memory left for a copy.
func (g operatorGuard) addend(
	_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple,
) (starlark.Value, error) {
	const big = 1 << 20
	if size := sizeOf(args[0]); size > big && g.growth.exceedsWith(uint64(size)) {
		return nil, g.growth.error()
	}
	return args[0], nil
}

// factor wraps a right operand of a multiplication, so that the left one is seen too.
func (g operatorGuard) factor(
	_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple,
) (starlark.Value, error) {
	return factor{Value: args[0], limits: g.limits}, nil
}

// factor is the right operand of a multiplication. It lives only from the guard's call to the multiplication.
type factor struct {
	starlark.Value
	limits scriptLimits
}

var _ starlark.HasBinary = factor{}

// Binary multiplies what the factor is on the right of.
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
			return fmt.Errorf("the product of two numbers has more than %d bits, the most it may", limits.bits)
		}
		return nil
	}
	count, ok := times.Uint64()
	if !ok {
		return nil // negative, or refused by the interpreter
	}
	if high, total := bits.Mul64(uint64(sizeOf(x)), count); high != 0 || total > limits.memory { //nolint:gosec // a length
		return fmt.Errorf("the repetition takes more than %d MiB of memory, the most a script may", limits.memory>>20)
	}
	return nil
}

// sizeOf is the size in bytes of a string or a list, without what is in the list.
func sizeOf(value starlark.Value) int {
	const valueSize = 16
	switch value := value.(type) {
	case starlark.String:
		return len(value)
	case starlark.Bytes:
		return len(value)
	case *starlark.List:
		return value.Len() * valueSize
	case starlark.Tuple:
		return len(value) * valueSize
	}
	return 0
}

// rangeWithin is the built-in range, with a limit on its length: it takes no memory itself, but what is made of it does.
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
