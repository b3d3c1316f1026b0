// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package validatecel implements the function validate-cel.
package validatecel

import (
	"cmp"
	"context"
	jsontypes "encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function validate-cel.
var Function = function.Function{
	Name:    "validate-cel",
	Version: "v0.1.0",
	Summary: "validates resources with CEL expressions, like a ValidatingAdmissionPolicy",
	Traits:  function.Traits{Worker: true, Deterministic: true},
	Config: "v1 ConfigMap, data: expressions that must be true of every resource, by their names\n" +
		"fn.kpt.dev/v1alpha1 ValidateCEL, validations: expressions, each with as needed name, message, " +
		"messageExpression, fieldPath, severity (error, warning or info) and target (apiVersion, kind, name, namespace, " +
		"labels); variables, matchConditions: further expressions, each with name and expression",
	Heavy:   true,
	Process: validateCEL,
}

// validateCEL validates the items with expressions in the Common Expression Language. It changes no items. README.md describes
// the functionConfig.
func validateCEL(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	config, err := celConfigOf(rl.FunctionConfig)
	if err != nil {
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		return false, nil
	}
	rules, errs := compileCEL(config)
	for _, err := range errs {
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
	}
	if len(errs) > 0 {
		return false, nil
	}
	check := celCheck{rules: rules}
	if err := check.items(ctx, rl.Items); err != nil {
		return false, err
	}
	rl.Results = append(rl.Results, check.results...)
	return check.results.ExitCode() == 0, nil
}

// celConfig is the content of a functionConfig.
type celConfig struct {
	APIVersion      string          `json:"apiVersion"`
	Kind            string          `json:"kind"`
	Metadata        map[string]any  `json:"metadata"`
	MatchConditions []celExpression `json:"matchConditions"`
	Variables       []celExpression `json:"variables"`
	Validations     []celValidation `json:"validations"`
}

type celExpression struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

type celValidation struct {
	Name              string      `json:"name"`
	Expression        string      `json:"expression"`
	Message           string      `json:"message"`
	MessageExpression string      `json:"messageExpression"`
	FieldPath         string      `json:"fieldPath"`
	Severity          fn.Severity `json:"severity"`
	Target            celTarget   `json:"target"`

	place string // the location in the functionConfig
}

// celTarget selects the resources of a rule. Empty fields select all.
type celTarget struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Name       string            `json:"name"`
	Namespace  string            `json:"namespace"`
	Labels     map[string]string `json:"labels"`
}

// celConfigOf strictly decodes a functionConfig. The error names the wrong field.
func celConfigOf(config *fn.KubeObject) (celConfig, error) {
	var read celConfig
	var err error
	switch apiVersion, kind := config.GetAPIVersion(), config.GetKind(); {
	case apiVersion == "v1" && kind == "ConfigMap":
		read, err = celConfigOfData(config)
	case apiVersion == fn.KptFunctionAPIVersion && kind == "ValidateCEL":
		read, err = celConfigOfKind(config)
	default:
		err = fmt.Errorf("the functionConfig is a %q of %q: want a ConfigMap of v1 or a ValidateCEL of %s",
			kind, apiVersion, fn.KptFunctionAPIVersion)
	}
	if err != nil {
		return celConfig{}, err
	}
	if err := read.check(); err != nil {
		return celConfig{}, fmt.Errorf("functionConfig: %w", err)
	}
	return read, nil
}

func celConfigOfData(config *fn.KubeObject) (read celConfig, err error) {
	data, err := functionconfig.Data(config)
	if err != nil {
		return read, err
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		rule := celValidation{Name: name, Expression: data[name], place: "data." + name}
		read.Validations = append(read.Validations, rule)
	}
	return read, nil
}

func celConfigOfKind(config *fn.KubeObject) (celConfig, error) {
	content, err := yaml.YAMLToJSONStrict([]byte(config.String()))
	if err != nil {
		return celConfig{}, errors.New("functionConfig: " + nodes.OneLine(err))
	}
	var read celConfig
	strict, err := json.UnmarshalStrict(content, &read)
	if mistyped, ok := errors.AsType[*jsontypes.UnmarshalTypeError](err); ok {
		return celConfig{}, fmt.Errorf("functionConfig: %s must not be of type %s", mistyped.Field, mistyped.Value)
	}
	if errs := append(strict, err); errors.Join(errs...) != nil {
		return celConfig{}, fmt.Errorf("functionConfig: %w", cmp.Or(errs...))
	}
	for i := range read.Validations {
		rule := &read.Validations[i]
		rule.place = celPlace("validations", i, rule.Name)
	}
	return read, nil
}

// celPlace formats the location of an expression, with its name if it has one.
func celPlace(list string, i int, name string) string {
	if name == "" {
		return fmt.Sprintf("%s[%d]", list, i)
	}
	return fmt.Sprintf("%s[%d] (%s)", list, i, name)
}

// check validates the config except for its expressions.
func (c *celConfig) check() error {
	if len(c.Validations) == 0 {
		return errors.New("there are no expressions: add at least one validation")
	}
	variables := map[string]bool{}
	for i, variable := range c.Variables {
		if variables[variable.Name] {
			return fmt.Errorf("variables[%d]: duplicate name %q", i, variable.Name)
		}
		variables[variable.Name] = true
	}
	for i := range c.Validations {
		rule := &c.Validations[i]
		rule.Severity = cmp.Or(rule.Severity, fn.Error)
		if !slices.Contains([]fn.Severity{fn.Error, fn.Warning, fn.Info}, rule.Severity) {
			return fmt.Errorf("%s: severity is %q: want error, warning or info", rule.place, rule.Severity)
		}
	}
	return nil
}
