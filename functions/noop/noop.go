// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package noop implements the function no-op.
package noop

import (
	"context"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function no-op.
var Function = function.Function{
	Name:      "no-op",
	Version:   "v0.1.0",
	Summary:   "changes nothing",
	Traits:    function.Traits{Worker: true, Deterministic: true},
	Config:    "any, which it does not read",
	Process:   func(context.Context, *fn.ResourceList) (bool, error) { return true, nil },
	KeepsList: true,
	Unshared:  true,
}
