// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kubeconform

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/validator"
)

type check struct {
	options options
	schemas schemaSource
	results fn.Results

	missingIsError bool // whether a kind without a schema is an error
}

// place is the location part of a result.
type place struct {
	validator.Subject
	prefix string // prefix of field paths: the resource's path in the item
}

// report adds an error result. field is "" if the problem concerns the whole resource.
func (c *check) report(here place, field, message string) {
	c.results = append(c.results, here.Result(fn.Error, strings.TrimSuffix(here.prefix+field, "."), message))
}

func (c *check) item(item *fn.KubeObject) {
	if validator.StaysLocal(item.GetAPIVersion(), item.GetAnnotation(fn.KptLocalConfig)) {
		return
	}
	// Decode like clients of the API server: as YAML 1.1, where "on" is a boolean.
	unmarshal := yaml.Unmarshal
	if c.options.strict {
		unmarshal = yaml.UnmarshalStrict
	}
	here := place{Subject: validator.SubjectOf(item)}
	var content map[string]any
	if err := unmarshal(item.Bytes(), &content); err != nil {
		c.report(here, "", "error unmarshalling resource: "+nodes.OneLine(err))
		return
	}
	c.resource(content, here)
}

// resource validates an item or a member of a List.
func (c *check) resource(content map[string]any, here place) {
	apiVersion, kind := validator.Text(content, "apiVersion"), validator.Text(content, "kind")
	here.Ref = &fn.ResourceRef{
		APIVersion: apiVersion,
		Kind:       kind,
		Name:       validator.Text(content, "metadata", "name"),
		Namespace:  validator.Text(content, "metadata", "namespace"),
	}
	local := validator.StaysLocal(apiVersion, validator.Text(content, "metadata", "annotations", fn.KptLocalConfig))
	switch {
	case local || c.options.skips(apiVersion, kind):
	case kind == "":
		c.report(here, "kind", "missing 'kind' key")
	case apiVersion == "":
		c.report(here, "apiVersion", "missing 'apiVersion' key")
	case apiVersion == "v1" && kind == "List":
		c.list(content, here)
	default:
		c.validate(content, here)
	}
}

func (c *check) list(content map[string]any, here place) {
	members, ok := content["items"].([]any)
	if !ok && content["items"] != nil {
		c.report(here, "items", "want an array")
		return
	}
	for i, member := range members {
		path := fmt.Sprintf("items[%d]", i)
		resource, ok := member.(map[string]any)
		if !ok {
			c.report(here, path, "want an object")
			continue
		}
		c.resource(resource, place{Subject: here.Subject, prefix: here.prefix + path + "."})
	}
}

func (c *check) validate(content map[string]any, here place) {
	schema, err := c.schemas.Schema(here.Ref.APIVersion, here.Ref.Kind)
	switch {
	case err != nil:
		c.report(here, "", nodes.OneLine(err))
	case schema != nil:
		for _, problem := range schemaProblems(schema, content) {
			c.report(here, problem.field, problem.message)
		}
	case c.missingIsError:
		c.report(here, "", "could not find schema for "+here.Ref.Kind)
	}
}

type schemaProblem struct {
	field   string // path such as spec.containers[0].image; "" for the resource itself
	message string
}

// schemaProblems validates a resource and returns the problems, sorted by field.
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

// leaves returns the leaf failures of a tree. It sorts unknown fields, because their order in the failure is random.
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

// describe returns the schema library's text for a failure, and the texts for its alternatives.
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

// fieldPath formats a location like kpt. The resource is needed to distinguish list indexes from numeric field names.
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

// compareSteps orders list indexes numerically and before field names, which are ordered as text.
func compareSteps(a, b string) int {
	return cmp.Or(cmp.Compare(element(a), element(b)), strings.Compare(a, b))
}

// element returns the number of a list index, or a number above all indexes for a field name.
func element(step string) int {
	if i, err := strconv.Atoi(step); err == nil {
		return i
	}
	return math.MaxInt
}
