// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"context"

	module "github.com/kptdev/krm-functions-catalog/functions/go/starlark/starlark"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is starlark.
var Function = function.Function{
	Name:    "starlark",
	Version: "v0.5.5",
	Summary: "runs a Starlark script over the resources",
	Config: "v1 ConfigMap, data.source: the script; all of data is there for it\n" +
		"fn.kpt.dev/v1alpha1 StarlarkRun, source: the script; params: whatever it takes",
	Process: runStarlark,

	// What the limits of a script leave open, a single library call that multiplies its arguments, ends here.
	ProcessMemory: 4 << 30,
}

// runStarlark runs the script of the functionConfig, and replaces the items by those that it leaves in
// ctx.resource_list["items"]. Whatever else it changes is ignored. When the script fails, or reaches one of its limits
// (see scriptLimits), the items stay as they are.
//
// The language, what a script finds in ctx and what it can load are those of the catalog's implementation. That one
// keeps the interpreter's thread to itself, so it cannot be stopped, and writes package variables in every call; this is
// why only its configuration and its modules are used here.
func runStarlark(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	items, err := evaluateScript(ctx, rl)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		rl.LogResult(err)
		return false, nil
	}
	rl.Items = items
	return true, nil
}

func evaluateScript(ctx context.Context, rl *fn.ResourceList) (fn.KubeObjects, error) {
	var config module.StarlarkRun
	if err := config.Config(rl.FunctionConfig); err != nil {
		return nil, err
	}
	list, err := listToStarlark(rl)
	if err != nil {
		return nil, err
	}
	program := function.ProgramOf(ctx)
	output := newScriptOutput(program.Stderr)
	defer output.close()
	script := script{
		name:    config.Name,
		source:  config.Source,
		list:    list,
		environ: program.Environ,
		output:  output,
		limits:  defaultScriptLimits(program.Alone),
	}
	return script.run(ctx)
}
