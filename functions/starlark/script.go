// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"context"
	"fmt"
	"strings"

	module "github.com/kptdev/krm-functions-catalog/functions/go/starlark/third_party/sigs.k8s.io/kustomize/kyaml/fn/runtime/starlark"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// script is one run of a Starlark program over a list.
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

// run returns the items that the script leaves in the list.
func (s script) run(ctx context.Context) (fn.KubeObjects, error) {
	if len(s.source) > s.limits.source {
		return nil, fmt.Errorf("the script has %d bytes, at most %d are taken", len(s.source), s.limits.source)
	}
	thread := &starlark.Thread{Name: s.name, Load: loadModule, Print: s.output.print}
	var items fn.KubeObjects
	growth := newHeapGrowth(s.limits.memory)
	err := s.limits.watch(ctx, thread, growth, func() error {
		if err := s.execute(thread, growth); err != nil {
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

func (s script) execute(thread *starlark.Thread, growth *heapGrowth) error {
	file, err := dialect.Parse(s.name, s.source, 0)
	if err != nil {
		return err
	}
	guardOperators(file)
	guard := operatorGuard{limits: s.limits, growth: growth}
	predeclared := starlark.StringDict{
		"ctx": starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
			"resource_list": s.list,
			"open_api":      &module.LazyInitializationOpenapi{},
			"environment":   s.environment(),
		}),
		"range":             starlark.NewBuiltin("range", s.limits.rangeWithin),
		additionGuard:       starlark.NewBuiltin(additionGuard, guard.addend),
		multiplicationGuard: starlark.NewBuiltin(multiplicationGuard, guard.factor),
	}
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
