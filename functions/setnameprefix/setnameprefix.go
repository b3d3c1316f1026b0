// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package setnameprefix implements the function set-name-prefix.
package setnameprefix

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/renaming"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function set-name-prefix.
var Function = function.Function{
	Name:      "set-name-prefix",
	Version:   "v0.1.0",
	Summary:   "prepends a prefix to the names that do not begin with it",
	Traits:    function.Traits{Worker: true, Deterministic: true},
	Config:    "v1 ConfigMap, data.prefix: the prefix\nfn.kpt.dev/v1alpha1 SetNamePrefix, prefix: the prefix",
	Process:   setNamePrefix,
	KeepsList: true,
}

// setNamePrefix renames the resources whose name does not begin with the prefix.
func setNamePrefix(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	prefix, err := prefixOf(rl.FunctionConfig)
	if err != nil {
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		return false, nil
	}
	return renaming.Rename(ctx, rl, func(name string) string {
		if strings.HasPrefix(name, prefix) {
			return name
		}
		return prefix + name
	})
}

func prefixOf(config *fn.KubeObject) (string, error) {
	var typed struct {
		Prefix string `yaml:"prefix"`
	}
	switch version, kind := config.GetAPIVersion(), config.GetKind(); {
	case config.IsEmpty():
		return "", errors.New("functionConfig is missing: want a v1 ConfigMap or a SetNamePrefix.v1alpha1.fn.kpt.dev")
	case version == "v1" && kind == "ConfigMap":
		data, err := functionconfig.Data(config)
		if err != nil {
			return "", err
		}
		typed.Prefix = data["prefix"]
	case version == fn.KptFunctionAPIVersion && kind == "SetNamePrefix":
		if err := function.NodeOf(config).Decode(&typed); err != nil {
			return "", errors.New(nodes.OneLine(functionconfig.WithoutTypes(err)))
		}
	default:
		return "", fmt.Errorf("functionConfig is a %s %s: want a v1 ConfigMap or a %s SetNamePrefix", version, kind, fn.KptFunctionAPIVersion)
	}
	if typed.Prefix == "" {
		return "", errors.New("functionConfig has no prefix: name one that is not empty")
	}
	return typed.Prefix, nil
}
