// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeconform implements the function kubeconform.
package kubeconform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function kubeconform.
var Function = function.Function{
	Name:    "kubeconform",
	Version: "v0.1.1",
	Summary: "validates resources against the JSON schemas of their kinds",
	Traits:  function.Traits{Worker: true},
	Config: "none\n" +
		"v1 ConfigMap with any of data.schema_location, data.additional_schema_locations, data.ignore_missing_schemas, " +
		"data.skip_kinds, data.strict\n" +
		"Schemas other than the built-in ones are read from the directories and URLs that the environment variable " + LocationsVariable + " lists",
	Heavy:   true,
	Process: kubeconform,
}

// Kubeval is the function kubeval, the predecessor of kubeconform. It differs in its name, and it reports kinds without a
// schema even with strict.
var Kubeval = kubeval()

func kubeval() function.Function {
	f := Function
	f.Name, f.Version, f.Stands = "kubeval", "v0.3.0", f.Implementation()
	f.Process = func(ctx context.Context, rl *fn.ResourceList) (bool, error) { return validate(ctx, rl, false) }
	return f
}

func kubeconform(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	return validate(ctx, rl, true)
}

// validate validates every item against the JSON schema of its kind, with the schema engine, schema locations and messages of
// the tool kubeconform (github.com/yannh/kubeconform). It changes no items. With strictTakesMissing, a kind without a schema is
// not an error in strict mode.
func validate(ctx context.Context, rl *fn.ResourceList, strictTakesMissing bool) (bool, error) {
	o, err := parseOptions(rl.FunctionConfig)
	if err != nil {
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		return false, nil
	}
	source, err := newSchemaSources(ctx, o)
	if err != nil {
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		return false, nil
	}
	defer source.close()

	c := check{options: o, schemas: source, missingIsError: !o.ignoreMissing && (!o.strict || !strictTakesMissing)}
	for _, item := range rl.Items {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		c.item(item)
	}
	rl.Results = append(rl.Results, c.results...)
	return len(c.results) == 0, nil
}

// options are the settings in a functionConfig.
type options struct {
	locations     []string        // schema locations in lookup order; never empty
	skipKinds     map[string]bool // kinds, or apiVersion/kind
	ignoreMissing bool
	strict        bool
}

// bundledSchemas is the location name of the built-in schemas.
const bundledSchemas = "default"

// parseOptions parses a functionConfig, which may be missing.
func parseOptions(config *fn.KubeObject) (options, error) {
	o := options{locations: []string{bundledSchemas}, skipKinds: map[string]bool{}}
	if config.IsEmpty() {
		return o, nil
	}
	if config.GetAPIVersion() != "v1" || config.GetKind() != "ConfigMap" {
		return o, fmt.Errorf("functionConfig is a %s %s: want a v1 ConfigMap", config.GetAPIVersion(), config.GetKind())
	}
	var content struct {
		Data map[string]any `json:"data"`
	}
	if err := config.As(&content); err != nil {
		return o, fmt.Errorf("functionConfig: data is not a map of strings: %w", functionconfig.WithoutTypes(err))
	}
	// Sorted, so that the first reported error does not depend on map order.
	for _, key := range slices.Sorted(maps.Keys(content.Data)) {
		if err := o.set(key, content.Data[key]); err != nil {
			return o, fmt.Errorf("functionConfig: data.%s: %w", key, err)
		}
	}
	return o, nil
}

// set sets the option for one key. An empty value means the default.
func (o *options) set(key string, value any) error {
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case bool: // an unquoted "strict: true" is unambiguous
		text = strconv.FormatBool(value)
	case nil:
	default:
		return errors.New("want a string")
	}

	var err error
	switch key {
	case "schema_location":
		if text != "" {
			o.locations[0] = text
		}
	case "additional_schema_locations":
		o.locations = append(o.locations, splitList(text)...)
	case "ignore_missing_schemas":
		o.ignoreMissing, err = parseSwitch(text)
	case "skip_kinds":
		for _, kind := range splitList(text) {
			o.skipKinds[kind] = true
		}
	case "strict":
		o.strict, err = parseSwitch(text)
	default:
		err = fmt.Errorf("unknown key, want one of: %s", strings.Join([]string{
			"additional_schema_locations", "ignore_missing_schemas", "schema_location", "skip_kinds", "strict",
		}, ", "))
	}
	return err
}

func (o *options) skips(apiVersion, kind string) bool {
	return o.skipKinds[kind] || o.skipKinds[apiVersion+"/"+kind]
}

// splitList splits a comma-separated list and drops spaces around elements and empty elements.
func splitList(text string) []string {
	var elements []string
	for element := range strings.SplitSeq(text, ",") {
		if element = strings.TrimSpace(element); element != "" {
			elements = append(elements, element)
		}
	}
	return elements
}

func parseSwitch(text string) (bool, error) {
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf(`want "true" or "false", got %q`, text)
	}
	return on, nil
}
