// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package starlark is the function starlark.
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
	"github.com/krmfn/krmfn/services/evaluation/traits"
)

// Function is starlark.
var Function = function.Function{
	Name:     "starlark",
	Version:  "v0.5.5",
	Releases: []string{"v0.4.3"},
	Summary:  "runs a Starlark script over the resources",
	Traits:   traits.Traits{Worker: true},
	Config: "v1 ConfigMap, data.source: the script; all of data is there for it\n" +
		"fn.kpt.dev/v1alpha1 StarlarkRun, source: the script; params: whatever it takes",
	Process: runStarlark,

	// What the limits of a script leave open ends here.
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
	name    string // where errors are, such as "name:1:1"
	source  string
	list    *starlark.Dict // the ResourceList; the script changes it
	environ []string       // KEY=value
	output  *scriptOutput
	limits  scriptLimits
}

// dialect is the language of the catalog's function: beyond the standard, it has sets, while, recursion, control flow at
// the top level, and lets globals be assigned again.
var dialect = syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

func (s script) run(ctx context.Context) (fn.KubeObjects, error) {
	if len(s.source) > s.limits.source {
		return nil, fmt.Errorf("the script has %d bytes, at most %d are taken", len(s.source), s.limits.source)
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
			_ = dict.SetKey(starlark.String(name), starlark.String(value)) // a string can always be a key
		}
	}
	return dict
}

// maxPrinted is how many bytes a script may print. What goes beyond is dropped.
const maxPrinted = 1 << 20

// scriptOutput takes what a script prints, until it is closed: a script that was left behind must not write to what its
// caller has back in its hands.
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
	_, _ = fmt.Fprintln(o.writer, message) // a script has no use for the error
}

func (o *scriptOutput) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writer = io.Discard
}
