// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package validatecel

import (
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

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
