// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package validatecel

import (
	"context"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/validator"
)

type celCheck struct {
	rules   celRules
	results fn.Results
}

// celResource is a resource with its content as expressions see it.
type celResource struct {
	validator.Subject
	content map[string]any
}

func (c *celCheck) items(ctx context.Context, items fn.KubeObjects) error {
	all := make([]celResource, 0, len(items))
	contents := make([]any, 0, len(items))
	for _, item := range items {
		resource := celResource{Subject: validator.SubjectOf(item)}
		var err error
		if resource.content, err = celContent(item); err != nil {
			c.report(resource, fn.Error, "", "the resource cannot be read: "+nodes.OneLine(err))
			continue
		}
		all = append(all, resource)
		contents = append(contents, resource.content)
	}
	resources := types.DefaultTypeAdapter.NativeToValue(contents)
	for _, resource := range all {
		if err := c.resource(ctx, resource, resources); err != nil {
			return err
		}
	}
	return nil
}

// celContent decodes a resource like clients of the API server: as YAML 1.1, with integers distinct from floats.
func celContent(item *fn.KubeObject) (content map[string]any, err error) {
	text, err := yaml.YAMLToJSON([]byte(item.String()))
	if err == nil {
		err = json.UnmarshalCaseSensitivePreserveInts(text, &content)
	}
	return content, err
}

// resource validates one resource. The error is the context's.
func (c *celCheck) resource(ctx context.Context, resource celResource, resources ref.Val) error {
	input := map[string]any{"object": resource.content, "resources": resources}
	for _, variable := range c.rules.variables {
		input[variable.name] = func() ref.Val { // evaluated lazily and once
			value, err := variable.eval(ctx, input)
			if err != nil {
				return types.WrapErr(err)
			}
			return value
		}
	}
	matched := false // whether the matchConditions are known to be met
	for _, rule := range c.rules.rules {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !rule.Target.selects(resource.content) {
			continue
		}
		if !matched {
			if ok, err := c.matches(ctx, resource, input); !ok || err != nil {
				return err
			}
			matched = true
		}
		if err := c.apply(ctx, rule, resource, input); err != nil {
			return err
		}
	}
	return nil
}

func (c *celCheck) matches(ctx context.Context, resource celResource, input map[string]any) (bool, error) {
	for _, condition := range c.rules.matches {
		met, err := condition.test(ctx, input)
		if err != nil {
			return false, c.failed(ctx, resource, "", condition.place, err)
		}
		if !met {
			return false, nil
		}
	}
	return true, nil
}

func (c *celCheck) apply(ctx context.Context, rule celRule, resource celResource, input map[string]any) error {
	ok, err := rule.test.test(ctx, input)
	switch {
	case err != nil:
		return c.failed(ctx, resource, rule.FieldPath, rule.place, err)
	case !ok:
		c.report(resource, rule.Severity, rule.FieldPath, rule.say(ctx, input))
	}
	return nil
}

// failed reports an expression that cannot be evaluated, or returns the context's error.
func (c *celCheck) failed(ctx context.Context, resource celResource, field, place string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.report(resource, fn.Error, field, place+": the expression cannot be evaluated: "+nodes.OneLine(err))
	return nil
}

func (c *celCheck) report(resource celResource, severity fn.Severity, field, message string) {
	c.results = append(c.results, resource.Result(severity, strings.TrimPrefix(field, "."), message))
}
