// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package functions

import (
	"fmt"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/yaml"
)

// kubeconformCheck validates items one after the other and collects what it finds.
type kubeconformCheck struct {
	options kubeconformOptions
	schemas schemaSource
	results fn.Results
}

// item validates one item of a resource list.
func (c *kubeconformCheck) item(item *fn.KubeObject) {
	if staysLocal(item.GetAPIVersion(), item.GetAnnotation(fn.KptLocalConfig)) {
		return
	}
	// Through text, as the API server's clients read it: YAML 1.1, in which "on" is a boolean.
	unmarshal := yaml.Unmarshal
	if c.options.strict {
		unmarshal = yaml.UnmarshalStrict
	}
	here := place{file: fileOf(item)}
	var content map[string]any
	if err := unmarshal(item.Bytes(), &content); err != nil {
		here.ref = &fn.ResourceRef{
			APIVersion: item.GetAPIVersion(), Kind: item.GetKind(), Name: item.GetName(), Namespace: item.GetNamespace(),
		}
		c.report(here, "", "error unmarshalling resource: "+oneLine(err))
		return
	}
	c.resource(content, here)
}

// resource validates an item, or one that is within a List.
func (c *kubeconformCheck) resource(content map[string]any, here place) {
	apiVersion, kind := stringAt(content, "apiVersion"), stringAt(content, "kind")
	here.ref = &fn.ResourceRef{
		APIVersion: apiVersion,
		Kind:       kind,
		Name:       stringAt(content, "metadata", "name"),
		Namespace:  stringAt(content, "metadata", "namespace"),
	}
	local := staysLocal(apiVersion, stringAt(content, "metadata", "annotations", fn.KptLocalConfig))
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

func (c *kubeconformCheck) list(content map[string]any, here place) {
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
		c.resource(resource, place{file: here.file, prefix: here.prefix + path + "."})
	}
}

// validate validates a resource against the schema of its kind.
func (c *kubeconformCheck) validate(content map[string]any, here place) {
	schema, err := c.schemas.Schema(here.ref.APIVersion, here.ref.Kind)
	switch {
	case err != nil:
		c.report(here, "", oneLine(err))
	case schema != nil:
		for _, problem := range schemaProblems(schema, content) {
			c.report(here, problem.field, problem.message)
		}
	case !c.options.ignoreMissing:
		c.report(here, "", fmt.Sprintf("could not find schema for %s %s: add where it is to additional_schema_locations, "+
			`or the kind to skip_kinds, or set ignore_missing_schemas to "true"`, here.ref.APIVersion, here.ref.Kind))
	}
}
