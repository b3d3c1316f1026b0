// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// catalog holds every function by its name. It is written only while the package's variables are initialised, each
// function's own file doing so for itself, so that adding a function touches no other file.
var catalog = map[string]Function{}

type processor = func(ctx context.Context, rl *fn.ResourceList) (bool, error)

// register adds a function to the catalog. It panics on one that is incomplete or on a name that is taken: both are
// errors of the program, not of its input, and must not wait for the first call to be seen.
func register(f Function) struct{} { //nolint:unparam // a variable has to be given something
	if f.Name == "" || f.Version == "" || f.Summary == "" || f.Process == nil || !f.OwnsTag(f.Version) {
		panic(fmt.Sprintf("function %q needs a name, a version that is among its tags, a summary and a Process", f.Name))
	}
	if _, taken := catalog[f.Name]; taken {
		panic(fmt.Sprintf("two functions are named %q", f.Name))
	}
	f.Process = withConfig(f.Process)
	catalog[f.Name] = f
	return struct{}{}
}

// withConfig gives process an empty FunctionConfig where there is none.
func withConfig(process processor) processor {
	return func(ctx context.Context, rl *fn.ResourceList) (bool, error) {
		if rl.FunctionConfig == nil {
			rl.FunctionConfig = fn.NewEmptyKubeObject()
		}
		return process(ctx, rl)
	}
}

// All returns every function, sorted by name.
func All() []Function {
	return slices.SortedFunc(maps.Values(catalog), func(a, b Function) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// Lookup returns the function of a name, such as "set-labels", and whether there is one. The name is that of the
// function alone: no registry, no tag.
func Lookup(name string) (Function, bool) {
	f, ok := catalog[name]
	return f, ok
}
