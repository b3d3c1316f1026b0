// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Limits for one call of a Rego built-in. Cancelling a context does not end such a call, so a call that is too large must fail
// before it allocates.
const (
	maxText     = 64 << 20  // bytes of a result
	maxParsed   = 8 << 20   // bytes of a text that is parsed into values
	maxElements = 1_000_000 // elements of a result
	maxDigits   = 100_000   // decimal digits of a number
	maxPadding  = 1_000_000 // bytes of padding by one verb of sprintf; package fmt has this limit
)

// sizeEstimate estimates the size of the result of a call. limit is the maximum size.
type sizeEstimate func(operands []*ast.Term) (size, limit float64)

// sizeEstimates lists the built-ins whose result can be far larger than their operands.
var sizeEstimates = map[string]sizeEstimate{
	"replace":                   func(o []*ast.Term) (float64, float64) { return replaced(text(o[0]), text(o[1]), text(o[2])), maxText },
	"strings.replace_n":         func(o []*ast.Term) (float64, float64) { return length(o[1]) * (1 + longest(o[0])), maxText },
	"regex.replace":             func(o []*ast.Term) (float64, float64) { return substituted(text(o[0]), text(o[2])), maxText },
	"concat":                    func(o []*ast.Term) (float64, float64) { return weight(o[1]) + length(o[0])*length(o[1]), maxText },
	"sprintf":                   func(o []*ast.Term) (float64, float64) { return formatted(text(o[0]), o[1]), maxText },
	"json.marshal":              written,
	"json.marshal_with_options": func(o []*ast.Term) (float64, float64) { return weight(o[0]) * (1 + weight(o[1])), maxText },
	"json.patch":                func(o []*ast.Term) (float64, float64) { return patched(o[0], o[1]), maxText },
	"yaml.marshal":              written,
	"json.unmarshal":            func(o []*ast.Term) (float64, float64) { return length(o[0]), maxParsed },
	"yaml.unmarshal":            func(o []*ast.Term) (float64, float64) { return length(o[0]), maxParsed },
	"json.is_valid":             func(o []*ast.Term) (float64, float64) { return length(o[0]), maxParsed },
	"yaml.is_valid":             func(o []*ast.Term) (float64, float64) { return length(o[0]), maxParsed },
	"rego.parse_module":         func(o []*ast.Term) (float64, float64) { return length(o[1]), maxParsed },
	"numbers.range":             func(o []*ast.Term) (float64, float64) { return span(o[0], o[1]), maxElements },
	"numbers.range_step":        func(o []*ast.Term) (float64, float64) { return span(o[0], o[1]) / max(number(o[2]), 1), maxElements },
	"split": func(o []*ast.Term) (float64, float64) {
		return float64(strings.Count(text(o[0]), text(o[1]))), maxElements
	},
	"indexof_n":                        func(o []*ast.Term) (float64, float64) { return length(o[0]), maxElements },
	"regex.split":                      func(o []*ast.Term) (float64, float64) { return length(o[1]), maxElements },
	"regex.find_n":                     func(o []*ast.Term) (float64, float64) { return length(o[1]), maxElements },
	"regex.find_all_string_submatch_n": func(o []*ast.Term) (float64, float64) { return length(o[0]) * length(o[1]), maxText },
	"net.cidr_contains_matches":        func(o []*ast.Term) (float64, float64) { return length(o[0]) * length(o[1]), maxElements },
	"array.concat":                     func(o []*ast.Term) (float64, float64) { return length(o[0]) + length(o[1]), maxElements },
	"bits.lsh":                         func(o []*ast.Term) (float64, float64) { return length(o[0]) + number(o[1])/3, maxDigits },
	"mul":                              func(o []*ast.Term) (float64, float64) { return length(o[0]) + length(o[1]), maxDigits },
}

// unbounded lists built-ins whose result size cannot be estimated before the call.
var unbounded = []string{"strings.render_template", "graph.reachable_paths"}

// boundBuiltins wraps the Rego built-ins with limits. The table of built-ins is global to the process.
var boundBuiltins = sync.OnceFunc(func() {
	for _, builtin := range ast.Builtins {
		call, bound := topdown.GetBuiltin(builtin.Name), sizeEstimates[builtin.Name]
		if call == nil {
			continue
		}
		topdown.RegisterBuiltinFunc(builtin.Name, func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
			for _, operand := range operands {
				if _, ok := operand.Value.(ast.Number); ok && digits(operand) > maxDigits {
					return errTooLarge(builtin.Name, bctx)
				}
			}
			if bound != nil {
				if size, limit := bound(operands); size > limit {
					return errTooLarge(builtin.Name, bctx)
				}
			}
			return call(bctx, operands, iter)
		})
	}
})

// errTooLarge returns an error that ends the evaluation. Any other error would make the call undefined, so that the policy would
// not report a violation.
func errTooLarge(name string, bctx topdown.BuiltinContext) error {
	message := name + ": the result is too large"
	return topdown.Halt{Err: &topdown.Error{Code: topdown.BuiltinErr, Message: message, Location: bctx.Location}}
}

func text(term *ast.Term) string {
	value, _ := term.Value.(ast.String)
	return string(value)
}

// length returns the bytes of a string, the digits of a number, or the elements of a collection.
func length(term *ast.Term) float64 {
	switch value := term.Value.(type) {
	case ast.String:
		return float64(len(value))
	case ast.Number:
		return digits(term)
	case *ast.Array:
		return float64(value.Len())
	case ast.Set:
		return float64(value.Len())
	case ast.Object:
		return float64(value.Len())
	}
	return 1
}

func number(term *ast.Term) float64 {
	value, _ := term.Value.(ast.Number)
	parsed, _ := strconv.ParseFloat(string(value), 64)
	return parsed
}

// digits returns the number of decimal digits of a number in plain notation.
func digits(term *ast.Term) float64 {
	value, _ := term.Value.(ast.Number)
	_, exponent, _ := strings.Cut(strings.ToLower(string(value)), "e")
	shift, _ := strconv.ParseFloat(exponent, 64)
	return float64(len(value)) + math.Abs(shift)
}

func replaced(in, from, to string) float64 {
	return float64(len(in)) + float64(strings.Count(in, from))*float64(len(to))
}

// substituted returns an upper bound for the result of replacing by a regular expression: each reference to a group repeats the
// group's match.
func substituted(in, to string) float64 {
	return float64(len(in)+1)*float64(len(to)+1) + float64(strings.Count(to, "$"))*float64(len(in))
}

// longest returns the length in bytes of the longest value in an object of strings.
func longest(object *ast.Term) float64 {
	most := 0.0
	if values, ok := object.Value.(ast.Object); ok {
		values.Foreach(func(_, value *ast.Term) { most = max(most, length(value)) })
	}
	return most
}

func span(from, to *ast.Term) float64 { return math.Abs(number(to) - number(from)) }

func written(operands []*ast.Term) (size, limit float64) { return weight(operands[0]), maxText }

// patched returns an upper bound for the size of a patched value: each copy operation may copy everything so far.
func patched(value, patches *ast.Term) float64 {
	copies := 0.0
	operation, copied := ast.StringTerm("op"), ast.StringTerm("copy")
	if array, ok := patches.Value.(*ast.Array); ok {
		array.Foreach(func(patch *ast.Term) {
			if object, ok := patch.Value.(ast.Object); ok && copied.Equal(object.Get(operation)) {
				copies++
			}
		})
	}
	return (weight(value) + weight(patches)) * math.Pow(2, copies)
}

var padding = regexp.MustCompile(`%[^a-zA-Z%]*[0-9*]`)

// formatted returns an upper bound for the result of sprintf: any verb may format any argument and add padding.
func formatted(format string, arguments *ast.Term) float64 {
	most := 0.0
	if array, ok := arguments.Value.(*ast.Array); ok {
		array.Foreach(func(argument *ast.Term) { most = max(most, weight(argument)) })
	}
	padded := float64(len(padding.FindAllStringIndex(format, -1)))
	return float64(len(format)) + float64(strings.Count(format, "%"))*most + padded*maxPadding
}

// weight returns the approximate length of a value as text. Shared values count at every occurrence. It stops above maxText.
func weight(term *ast.Term) float64 {
	total := 0.0
	var weigh func(term *ast.Term, depth float64)
	weigh = func(term *ast.Term, depth float64) {
		if total > maxText {
			return
		}
		total += 4 + depth // including indentation
		switch value := term.Value.(type) {
		case ast.String:
			total += float64(len(value))
		case ast.Number:
			total += float64(len(value))
		case *ast.Array:
			value.Until(func(element *ast.Term) bool { weigh(element, depth+1); return total > maxText })
		case ast.Set:
			value.Until(func(element *ast.Term) bool { weigh(element, depth+1); return total > maxText })
		case ast.Object:
			value.Until(func(key, element *ast.Term) bool {
				weigh(key, depth+1)
				weigh(element, depth+1)
				return total > maxText
			})
		}
	}
	weigh(term, 0)
	return total
}

// checkWeight returns an error for a result that is too large to be printed.
func checkWeight(value ast.Value) error {
	if weight(ast.NewTerm(value)) > maxText {
		return fmt.Errorf("its violations have more than %d MiB", maxText>>20)
	}
	return nil
}
