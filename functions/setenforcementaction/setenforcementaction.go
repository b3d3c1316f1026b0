// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package setenforcementaction implements the function set-enforcement-action.
package setenforcementaction

import (
	"context"
	"errors"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function set-enforcement-action.
var Function = function.Function{
	Name:      "set-enforcement-action",
	Version:   "v0.1.0",
	Summary:   "sets the enforcement action of Gatekeeper constraints",
	Traits:    function.Traits{Worker: true, Deterministic: true},
	Config:    "ConfigMap, data.enforcementAction: deny, warn or dryrun",
	Process:   setEnforcementAction,
	KeepsList: true,
}

// setEnforcementAction sets spec.enforcementAction in all constraints, including local configuration.
func setEnforcementAction(_ context.Context, rl *fn.ResourceList) (bool, error) {
	action, err := enforcementActionOf(rl.FunctionConfig)
	if err != nil {
		return enforcementFailed(rl, err)
	}
	var set fn.Results
	for _, item := range rl.Items {
		if !isConstraint(item) {
			continue
		}
		if err := enforce(function.NodeOf(item), action); err != nil {
			return enforcementFailed(rl, err)
		}
		set = append(set, origin.Named("Policy name: [%s]", item))
	}
	if len(set) == 0 {
		rl.Results.Warningf("Found no policy to set to [%s]", action)
		return true, nil
	}
	rl.Results.Infof("Number of policies set to [%s]: %d", action, len(set))
	rl.LogResult(set)
	return true, nil
}

func enforcementFailed(rl *fn.ResourceList, err error) (bool, error) {
	rl.Results.Errorf("failed to process policies: %s", err)
	return false, nil
}

func enforcementActionOf(config *fn.KubeObject) (string, error) {
	data, err := functionconfig.Data(config)
	if err != nil {
		return "", err
	}
	if len(data) != 1 {
		return "", errors.New("expecting exactly 1 enforcementAction as part of the ConfigMap")
	}
	action := data["enforcementAction"]
	if !slices.Contains([]string{"deny", "warn", "dryrun"}, action) {
		return "", errors.New("expected values for enforcementAction are [deny] or [warn] or [dryrun]")
	}
	return action, nil
}

func isConstraint(item *fn.KubeObject) bool {
	return item.GetAPIVersion() == "constraints.gatekeeper.sh/v1beta1" && item.GetKind() != "" && item.GetName() != ""
}

func enforce(root *yaml.Node, action string) error {
	if _, err := nodes.OwnField(root, root, "spec"); err != nil {
		return err
	}
	spec, err := nodes.Mapping(root, "spec")
	if err != nil {
		return err
	}
	return nodes.SetString(root, spec, "enforcementAction", action)
}
