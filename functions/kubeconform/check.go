// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kubeconform

import (
	"fmt"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/validator"
)

// check validates items one after the other and collects what it finds.
type check struct {
	options options
	schemas schemaSource
	results fn.Results
}

// place is what a result says about where it belongs.
type place struct {
	validator.Subject
	prefix string // of field paths: where the resource is in the item
}

// report adds an error result. The field is "" for what is wrong with a resource as a whole.
func (c *check) report(here place, field, message string) {
	c.results = append(c.results, here.Result(fn.Error, strings.TrimSuffix(here.prefix+field, "."), message))
}

// item validates one item of a resource list.
func (c *check) item(item *fn.KubeObject) {
	if validator.StaysLocal(item.GetAPIVersion(), item.GetAnnotation(fn.KptLocalConfig)) {
		return
	}
	// Through text, as the API server's clients read it: YAML 1.1, in which "on" is a boolean.
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

// resource validates an item, or one that is within a List.
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

// validate validates a resource against the schema of its kind.
func (c *check) validate(content map[string]any, here place) {
	schema, err := c.schemas.Schema(here.Ref.APIVersion, here.Ref.Kind)
	switch {
	case err != nil:
		c.report(here, "", nodes.OneLine(err))
	case schema != nil:
		for _, problem := range schemaProblems(schema, content) {
			c.report(here, problem.field, problem.message)
		}
	case !c.options.ignoreMissing:
		c.report(here, "", fmt.Sprintf("could not find schema for %s %s: add where it is to additional_schema_locations, "+
			`or the kind to skip_kinds, or set ignore_missing_schemas to "true"`, here.Ref.APIVersion, here.Ref.Kind))
	}
}
