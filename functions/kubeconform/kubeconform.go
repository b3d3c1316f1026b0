// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kubeconform

import (
	"context"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is kubeconform.
var Function = function.Function{
	Name:    "kubeconform",
	Version: "v0.1.1",
	Summary: "validates resources against the JSON schemas of their kinds",
	Config: "none\n" +
		"v1 ConfigMap with any of data.schema_location, data.additional_schema_locations, data.ignore_missing_schemas, " +
		"data.skip_kinds, data.strict",
	Heavy:   true,
	Process: kubeconform,
}

// kubeconform validates every item against the JSON schema of its kind, with the schema engine, the schema locations
// and the texts of the tool of that name (github.com/yannh/kubeconform). It changes no item.
//
// The functionConfig is optional: a v1 ConfigMap with any of these keys, all of them strings.
//
//   - schema_location: where schemas are, instead of those that come with the function. A path or an http(s) URL in the
//     tool's template syntax, such as /schemas/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json. Relative paths start at
//     the working directory of the process; URLs work only where it has a network. "default" names the schemas that
//     come with the function: those of the Kubernetes release that package schemas holds, for every kind that it serves.
//   - additional_schema_locations: a comma-separated list of further locations, asked in turn for the kinds that the
//     ones before do not have.
//   - ignore_missing_schemas: "true" to pass over a resource whose kind has a schema nowhere. Default "false": an error.
//   - skip_kinds: a comma-separated list of kinds not to validate, case-sensitive, each a kind or apiVersion/kind.
//   - strict: "true" to refuse fields that the schema does not know, and fields that are given twice. Default "false".
//
// Every problem is one result of severity error with the resource, the file it is from, and the field, as in
// spec.template.spec.containers[0].image. They are in the order of the items, and within an item sorted by field. The
// function fails when there is any. A bad functionConfig is one such result, before any item is looked at.
//
// Not validated, as no API server gets to see them: items with the annotation config.kubernetes.io/local-config, and
// those of the API groups kpt.dev (Kptfile), fn.kpt.dev (function configs) and kustomize.config.k8s.io. A v1 List
// is validated item by item.
func kubeconform(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	o, err := parseOptions(rl.FunctionConfig)
	if err != nil {
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		return false, nil
	}
	source, err := newSchemaSource(o)
	if err != nil {
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		return false, nil
	}

	c := check{options: o, schemas: source}
	for _, item := range rl.Items {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		c.item(item)
	}
	rl.Results = append(rl.Results, c.results...)
	return len(c.results) == 0, nil
}
