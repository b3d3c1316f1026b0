// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kubeconform

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schemaProblem is one way in which a resource does not match its schema.
type schemaProblem struct {
	field   string // path of the field, as in spec.containers[0].image; "" for the resource itself
	message string
}

// schemaProblems validates a resource and returns what is wrong, sorted by field.
func schemaProblems(schema *jsonschema.Schema, content map[string]any) []schemaProblem {
	var invalid *jsonschema.ValidationError
	if !errors.As(schema.Validate(content), &invalid) {
		return nil
	}
	failures := leaves(invalid)
	printer := message.NewPrinter(language.English)
	slices.SortFunc(failures, func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(
			slices.CompareFunc(a.InstanceLocation, b.InstanceLocation, compareSteps),
			strings.Compare(a.ErrorKind.LocalizedString(printer), b.ErrorKind.LocalizedString(printer)),
		)
	})
	problems := make([]schemaProblem, 0, len(failures))
	for _, failure := range failures {
		problems = append(problems, schemaProblem{
			field:   fieldPath(content, failure.InstanceLocation),
			message: describe(failure, printer),
		})
	}
	return problems
}

// leaves returns the failures of a tree of them, without those that only say that something within them failed. Fields
// that the schema does not know are sorted, as they come out of a map.
func leaves(failure *jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch failed := failure.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		found := make([]*jsonschema.ValidationError, 0, len(failure.Causes))
		for _, cause := range failure.Causes {
			found = append(found, leaves(cause)...)
		}
		return found
	case *kind.AdditionalProperties:
		slices.Sort(failed.Properties)
	}
	return []*jsonschema.ValidationError{failure}
}

// describe is the text that the schema library has for a failure, and for those of the alternatives within it.
func describe(failure *jsonschema.ValidationError, printer *message.Printer) string {
	text := failure.ErrorKind.LocalizedString(printer)
	var alternatives []string
	for _, cause := range failure.Causes {
		for _, leaf := range leaves(cause) {
			alternatives = append(alternatives, describe(leaf, printer))
		}
	}
	if len(alternatives) == 0 {
		return text
	}
	slices.Sort(alternatives)
	return text + ": " + strings.Join(slices.Compact(alternatives), "; ")
}

// fieldPath writes a location in a resource the way kpt does. The resource tells list elements from fields whose name is
// a number.
func fieldPath(content any, location []string) string {
	var path strings.Builder
	for _, step := range location {
		switch within := content.(type) {
		case []any:
			path.WriteString("[" + step + "]")
			if i, err := strconv.Atoi(step); err == nil && i < len(within) {
				content = within[i]
			}
		case map[string]any:
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(step)
			content = within[step]
		}
	}
	return path.String()
}

// compareSteps orders list elements by number, and before fields, which are ordered by text.
func compareSteps(a, b string) int {
	return cmp.Or(cmp.Compare(element(a), element(b)), strings.Compare(a, b))
}

// element is the number of a list element, or a number after all of them when the step is a field.
func element(step string) int {
	if i, err := strconv.Atoi(step); err == nil {
		return i
	}
	return math.MaxInt
}
