// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package starlark implements the function starlark.
package starlark

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	module "github.com/kptdev/krm-functions-catalog/functions/go/starlark/starlark"
	kyaml "github.com/kptdev/krm-functions-catalog/functions/go/starlark/third_party/sigs.k8s.io/kustomize/kyaml/fn/runtime/starlark"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function starlark.
var Function = function.Function{
	Name:     "starlark",
	Version:  "v0.5.5",
	Releases: []string{"v0.4.3"},
	Summary:  "runs a Starlark script over the resources",
	Traits:   function.Traits{Worker: true},
	Config: "v1 ConfigMap, data.source: the script; all of data is there for it\n" +
		"fn.kpt.dev/v1alpha1 StarlarkRun, source: the script; params: whatever it takes",
	Process: runStarlark,

	// A fallback for memory that the script limits miss.
	ProcessMemory: 4 << 30,
}

// runStarlark runs the script in the functionConfig and replaces the items with ctx.resource_list["items"]. It ignores all
// other changes. If the script fails or exceeds a limit (see scriptLimits), the items are unchanged.
//
// Language, ctx and modules are the same as in the catalog's implementation. That implementation does not expose its interpreter's
// thread, so that it cannot be stopped, and writes package variables in every call. Therefore only its configuration and its
// modules are used here.
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
		return nil, functionconfig.WithoutTypes(err)
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
		limits:  defaultScriptLimits(),
	}
	return script.run(ctx)
}

type script struct {
	name    string // the file name in errors, such as "name:1:1"
	source  string
	list    *starlark.Dict // the ResourceList; the script modifies it
	environ []string       // KEY=value
	output  *scriptOutput
	limits  scriptLimits
}

// dialect is the language of the catalog's function: standard Starlark plus sets, while, recursion, top-level control flow, and
// reassignment of globals.
var dialect = syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

func (s script) run(ctx context.Context) (fn.KubeObjects, error) {
	if len(s.source) > s.limits.source {
		return nil, fmt.Errorf("the script has %d bytes, at most %d are allowed", len(s.source), s.limits.source)
	}
	thread := &starlark.Thread{Name: s.name, Print: s.output.print}
	var items fn.KubeObjects
	meter := &meter{thread: thread, limit: s.limits.memory, held: []starlark.Value{s.list}}
	thread.Load = operatorGuard{limits: s.limits, meter: meter}.load
	err := s.limits.watch(ctx, thread, meter, func() error {
		if err := s.execute(thread, meter); err != nil {
			return err
		}
		var err error
		items, err = itemsFromStarlark(s.list, s.limits.output)
		return err
	})
	if err != nil {
		return nil, err
	}
	return items, nil
}

func (s script) execute(thread *starlark.Thread, meter *meter) error {
	file, err := dialect.Parse(s.name, s.source, 0)
	if err != nil {
		return err
	}
	guardOperators(file)
	guard := operatorGuard{limits: s.limits, meter: meter}
	predeclared := guard.predeclared()
	predeclared["ctx"] = starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
		"resource_list": s.list,
		"open_api":      &kyaml.LazyInitializationOpenapi{},
		"environment":   s.environment(),
	})
	program, err := starlark.FileProgram(file, predeclared.Has)
	if err != nil {
		return err
	}
	_, err = program.Init(thread, predeclared)
	return err
}

func (s script) environment() *starlark.Dict {
	dict := starlark.NewDict(len(s.environ))
	for _, entry := range s.environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			_ = dict.SetKey(starlark.String(name), starlark.String(value)) // a string is always a valid key
		}
	}
	return dict
}

// maxPrinted is the maximum output of a script in bytes. Further output is dropped.
const maxPrinted = 1 << 20

// scriptOutput passes on a script's output until it is closed, because a script that did not stop must not write to its former
// caller.
type scriptOutput struct {
	mu      sync.Mutex
	writer  io.Writer
	printed int // bytes
}

func newScriptOutput(w io.Writer) *scriptOutput { return &scriptOutput{writer: w} }

func (o *scriptOutput) print(_ *starlark.Thread, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.printed > maxPrinted {
		return
	}
	if o.printed += len(message) + 1; o.printed > maxPrinted {
		message = fmt.Sprintf("the script prints more than %d bytes, the rest is dropped", maxPrinted)
	}
	_, _ = fmt.Fprintln(o.writer, message) // a script cannot handle the error
}

func (o *scriptOutput) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writer = io.Discard
}
