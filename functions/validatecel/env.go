// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package validatecel

import (
	"fmt"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
)

// celEnv returns the CEL environment without variables. It is created on first use, because that is slow.
var celEnv = sync.OnceValues(func() (*cel.Env, error) {
	env, err := cel.NewEnv(
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		cel.ExtendedValidations(),
		ext.Strings(), ext.Sets(), ext.Math(),
		ext.Lists(ext.ListsMaxRangeSize(celMaxRange)),
		cel.Variable("object", cel.DynType),
		cel.Variable("resources", cel.ListType(cel.DynType)),
	)
	if err != nil {
		return nil, err
	}
	guards := make([]cel.EnvOption, 0, len(celWork))
	for name, work := range celWork {
		guard, err := guardCEL(env.Functions()[name], work)
		if err != nil {
			return nil, fmt.Errorf("bound %s: %w", name, err)
		}
		guards = append(guards, guard)
	}
	return env.Extend(guards...)
})

const (
	// celMaxRange is the maximum length of a list created by lists.range.
	celMaxRange = 100_000

	// celMaxElements is the maximum length of a list created by adding lists.
	celMaxElements = 1_000_000

	// celMaxWork is the maximum work of one call, in characters or pairs of elements.
	celMaxWork = 10_000_000
)

// celWork estimates the work of calls. CEL adds the cost of a call only after the call, and cancelling a context does not end a
// call. Without limits, one call could fill the memory.
var celWork = map[string]func(values []ref.Val) int64{
	"format": celWeight,
	"join":   func(values []ref.Val) int64 { return celWeight(values) + celProduct(values) },

	"replace": celProduct, "indexOf": celProduct, "lastIndexOf": celProduct, "distinct": celProduct,
	"sets.contains": celProduct, "sets.equivalent": celProduct, "sets.intersects": celProduct,
	"hasOnly": celProduct, "hasAny": celProduct, "hasAll": celProduct, "hasExactly": celProduct,
}

func guardCEL(function *decls.FunctionDecl, work func(values []ref.Val) int64) (cel.EnvOption, error) {
	bindings, err := function.Bindings()
	if err != nil {
		return nil, err
	}
	guarded := make([]cel.FunctionOpt, 0, len(bindings))
	for _, form := range function.OverloadDecls() {
		i := slices.IndexFunc(bindings, func(binding *functions.Overload) bool { return binding.Operator == form.ID() })
		if i < 0 {
			return nil, fmt.Errorf("%s has no implementation of its own", form.ID())
		}
		call := callOf(bindings[i])
		bound := func(values ...ref.Val) ref.Val {
			if work(values) > celMaxWork {
				return types.NewErr("the arguments of %s are too large", function.Name())
			}
			return call(values...)
		}
		declare := cel.Overload
		if form.IsMemberFunction() {
			declare = cel.MemberOverload
		}
		guarded = append(guarded, declare(form.ID(), form.ArgTypes(), form.ResultType(), bindingOf(len(form.ArgTypes()), bound)))
	}
	return cel.Function(function.Name(), guarded...), nil
}

// callOf converts the implementation of an overload to a variadic function.
func callOf(overload *functions.Overload) functions.FunctionOp {
	switch {
	case overload.Unary != nil:
		return func(values ...ref.Val) ref.Val { return overload.Unary(values[0]) }
	case overload.Binary != nil:
		return func(values ...ref.Val) ref.Val { return overload.Binary(values[0], values[1]) }
	default:
		return overload.Function
	}
}

// bindingOf is the inverse of callOf. CEL requires the form that matches the number of arguments.
func bindingOf(arguments int, call functions.FunctionOp) cel.OverloadOpt {
	switch arguments {
	case 1:
		return cel.UnaryBinding(func(value ref.Val) ref.Val { return call(value) })
	case 2:
		return cel.BinaryBinding(func(a, b ref.Val) ref.Val { return call(a, b) })
	default:
		return cel.FunctionBinding(call)
	}
}

// celSize returns the bytes of a string or the elements of a list; 1 for other values.
func celSize(value ref.Val) int64 {
	switch value := value.(type) {
	case types.String:
		return int64(len(value))
	case types.Bytes:
		return int64(len(value))
	case traits.Lister:
		if size, ok := value.Size().(types.Int); ok {
			return int64(size)
		}
	}
	return 1
}

// celProduct returns the size of the first argument times that of the largest other argument, or squared if it is the only one.
func celProduct(values []ref.Val) int64 {
	first := celSize(values[0])
	if len(values) == 1 {
		return first * first
	}
	return first * celSize(slices.MaxFunc(values[1:], func(a, b ref.Val) int { return int(celSize(a) - celSize(b)) }))
}

// celWeight returns the approximate length of the arguments as text. It stops above celMaxWork.
func celWeight(values []ref.Val) int64 {
	var weight int64
	var weigh func(value ref.Val)
	weigh = func(value ref.Val) {
		weight++
		switch value := value.(type) {
		case types.String, types.Bytes:
			weight += celSize(value)
		case traits.Lister:
			for i, size := types.Int(0), types.Int(celSize(value)); i < size && weight <= celMaxWork; i++ {
				weigh(value.Get(i))
			}
		case traits.Mapper:
			for keys := value.Iterator(); keys.HasNext() == types.True && weight <= celMaxWork; {
				key := keys.Next()
				weigh(key)
				weigh(value.Get(key))
			}
		}
	}
	for _, value := range values {
		weigh(value)
	}
	return weight
}

// celCosts adds costs that CEL does not count: strings and lists from operands whose types are known only at run time, as for
// all fields of resources.
type celCosts struct{}

// CallCost returns the cost of a call, or nil to use CEL's own value. As in Kubernetes, a character costs a tenth of a unit.
func (celCosts) CallCost(function, _ string, arguments []ref.Val, result ref.Val) *uint64 {
	size := celSize(result)
	switch function {
	case "_+_":
		// Adding two lists takes no memory regardless of length, but iterating over the result could be endless.
		if _, isList := result.(traits.Lister); isList && size <= celMaxElements {
			return nil
		} else if isList {
			size *= celCost
		}
	case "format", "reverse", "bytes", "sort", "math.@max", "math.@min":
		for _, argument := range arguments {
			size = max(size, celSize(argument))
		}
	default:
		return nil
	}
	cost := 1 + uint64(size)/10 //nolint:gosec // a size is never negative
	return &cost
}
