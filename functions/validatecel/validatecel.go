// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package validatecel

import (
	"context"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is validate-cel.
var Function = function.Function{
	Name:    "validate-cel",
	Version: "v0.1.0",
	Summary: "validates resources by expressions in CEL, as ValidatingAdmissionPolicies do",
	Config: "v1 ConfigMap, data: expressions that must be true of every resource, by their names\n" +
		"fn.kpt.dev/v1alpha1 ValidateCEL, validations: expressions, each with as needed name, message, " +
		"messageExpression, fieldPath, severity (error, warning or info) and target (apiVersion, kind, name, namespace, " +
		"labels); variables, matchConditions: further expressions, each with name and expression",
	Heavy:   true,
	Process: validateCEL,
}

// validateCEL validates the items of a list by expressions in the Common Expression Language. It changes no item.
//
// The forms, and what expressions can say, are those of Kubernetes' ValidatingAdmissionPolicy. Expressions see
//
//   - object: the resource;
//   - resources: all of the list, in its order;
//   - variables.NAME: the value of a variable, which is another expression. It may use the variables before it.
//
// They have CEL's standard library, its optional types, and its extensions for strings, lists, sets and math. An
// expression that is not true of a resource is a result with the message: that of messageExpression, unless it fails or is
// no single line of text; or message; or else one that has the expression. fieldPath, such as .spec.replicas, is the field
// of the result. A rule with a target is about the resources of which all that it says is so, and the expressions of
// matchConditions must be true of a resource, or nothing is asked of it.
//
// An expression that does not compile is an error result with its place in the functionConfig, before any is evaluated,
// and so is any other mistake there, such as an unknown field. An expression that cannot be evaluated, such as one that
// looks at a field which is not there, is an error result of whatever severity the rule is. The function fails when there
// is any error result.
//
// As in kubeconform, what no API server gets to see (local configuration, Kptfiles, functionConfigs) is not validated; but
// a rule of which the target has a kind is about all resources of that kind.
//
// What an expression may cost is bounded as it is in Kubernetes.
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
