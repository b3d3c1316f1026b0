// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setlabels

import (
	"context"
	"errors"
	"fmt"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/parallel"
)

// Function is set-labels.
var Function = function.Function{
	Name:    "set-labels",
	Version: "v0.2.0",
	Summary: "sets labels on resources, their selectors and their pod templates",
	Config: "v1 ConfigMap, data: the labels\n" +
		"fn.kpt.dev SetLabels (any version), labels: the labels",
	Process:  setLabels,
	Unshared: true,
}

// setLabels sets labels on every resource that is not local configuration, and wherever Kubernetes relies on them being
// the same: see labelRules. Every rule's path counts once per label in the last result, whether anything changed or not.
//
// Without a functionConfig the function fails, unless there is nothing to label.
func setLabels(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	labels, given, err := labelsOf(rl.FunctionConfig)
	if err != nil {
		rl.Results.ErrorE(err)
		return false, nil
	}
	if !given {
		rl.Results.Infof("`FunctionConfig` is not given")
	}
	items := rl.Items.WhereNot(fn.IsLocalConfig)
	switch {
	case len(items) == 0:
		rl.Results.Infof("no input resources")
		return true, nil
	case !given:
		return false, nil
	case len(labels) == 0:
		rl.Results.Warningf("no `labels` arguments are given in FunctionConfig")
		return true, nil
	}

	sorted, counts, errs := nodes.Entries(labels), make([]int, len(items)), make([]error, len(items))
	err = parallel.Each(len(items), func(i int) error {
		edit := labelEdit{item: items[i], root: function.NodeOf(items[i]), labels: sorted}
		errs[i] = edit.all()
		counts[i] = edit.count
		return ctx.Err()
	})
	if err != nil {
		return false, err
	}
	count, ok := 0, true
	for i := range items {
		if errs[i] != nil {
			rl.Results.ErrorE(errs[i])
			ok = false
		}
		count += counts[i]
	}
	rl.Results.Infof("set %d labels in total", count)
	return ok, nil
}

// labelsOf reads the labels from a functionConfig, and whether there is one. kpt hands over an empty ConfigMap named
// function-input where none is given.
func labelsOf(config *fn.KubeObject) (labels map[string]string, given bool, err error) {
	if config.IsEmpty() {
		return nil, false, nil
	}
	switch kind := config.GroupKind(); {
	case kind.Group == "" && kind.Kind == "ConfigMap":
		labels, err := functionconfig.Data(config)
		return labels, err != nil || len(labels) > 0 || config.GetName() != "function-input", err
	case kind.Group == fn.KptFunctionGroup && kind.Kind == "SetLabels":
		type SetLabels struct { // the name is part of what a decoding error says
			Labels map[string]string `json:"labels,omitempty"`
		}
		var typed SetLabels
		if err := config.As(&typed); err != nil {
			return nil, true, fmt.Errorf("unable to convert object to *setlabels.SetLabels with error: %w", errors.Unwrap(err))
		}
		return typed.Labels, true, nil
	default:
		return nil, true, fmt.Errorf("unknown FunctionConfig `%v`, expect `SetLabels.%s` or `ConfigMap.v1`",
			kind, fn.KptFunctionGroup)
	}
}
