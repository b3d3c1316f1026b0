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

// celEnv is what expressions can use, apart from variables. It is made when it is first asked for, as that takes long.
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
	// celMaxRange is how many numbers lists.range may make.
	celMaxRange = 100_000

	// celMaxElements is how long a list may get by adding to it.
	celMaxElements = 1_000_000

	// celMaxWork is how much one call may have to do or to make: characters, or pairs of elements.
	celMaxWork = 10_000_000
)

// celWork tells how much a call has to do. CEL counts the cost of a call when it is done, and no context ends it: without a
// bound, one call could fill the memory.
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

// callOf returns the implementation of a function, in one form for any number of arguments.
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

// bindingOf is the opposite of callOf: CEL wants the implementation in the form for the number of arguments.
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

// celSize is the bytes of a string and the elements of a list; 1 for anything else.
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

// celProduct is the size of the first argument times that of the largest other one, or of the first again.
func celProduct(values []ref.Val) int64 {
	first := celSize(values[0])
	if len(values) == 1 {
		return first * first
	}
	return first * celSize(slices.MaxFunc(values[1:], func(a, b ref.Val) int { return int(celSize(a) - celSize(b)) }))
}

// celWeight is about how many characters the arguments are when they are written. It looks no further than to what is too
// much.
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

// celCosts counts what CEL does not: strings and lists that come of operands whose types are known only at run time, as
// are those of all fields of a resource.
type celCosts struct{}

// CallCost is what a call has cost, or nil where CEL knows better. The unit is CEL's own, as in Kubernetes: a tenth for a
// character.
func (celCosts) CallCost(function, _ string, arguments []ref.Val, result ref.Val) *uint64 {
	size := celSize(result)
	switch function {
	case "_+_":
		// The sum of two lists takes no memory, however long it gets. What goes through it would have no end.
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
	cost := 1 + uint64(size)/10 //nolint:gosec // a size is not negative
	return &cost
}
