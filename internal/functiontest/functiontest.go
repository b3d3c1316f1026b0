// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functiontest provides small functions for tests of evaluators.
package functiontest

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Functions returns set-labels and set-namespace, which change only metadata and read their values from a ConfigMap, and fail, which
// fails with the result "no luck". Their tags are v0.2.4 and v0.2.
func Functions() function.Set {
	return function.NewSet(named("fail", fail), named("set-labels", setLabels), named("set-namespace", setNamespace))
}

func named(name string, process func(context.Context, *fn.ResourceList) (bool, error)) function.Function {
	return function.Function{
		Name: name, Version: "v0.2.4", Summary: "is for tests", Unshared: true, Process: process,
	}
}

func setLabels(_ context.Context, rl *fn.ResourceList) (bool, error) {
	labels, _, err := rl.FunctionConfig.NestedStringMap("data")
	if err != nil {
		return false, err
	}
	for _, item := range rl.Items {
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if err := item.SetLabel(key, labels[key]); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

func setNamespace(_ context.Context, rl *fn.ResourceList) (bool, error) {
	namespace, found, err := rl.FunctionConfig.NestedString("data", "namespace")
	if err != nil || !found {
		return false, errors.Join(err, errors.New("there is no namespace"))
	}
	for _, item := range rl.Items {
		if !item.IsLocalConfig() && !item.IsGVK("kpt.dev", "v1", "Kptfile") {
			if err := item.SetNamespace(namespace); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

func fail(_ context.Context, rl *fn.ResourceList) (bool, error) {
	rl.Results.Errorf("no luck")
	return false, nil
}
