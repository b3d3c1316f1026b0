// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"sync"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// registered are all functions, in no order. It is written only while the package's variables are initialised, each
// function's own file doing so for itself, so that adding a function touches no other file.
var registered []function.Function

func register(f function.Function) struct{} { //nolint:unparam // a variable has to be given something
	registered = append(registered, f)
	return struct{}{}
}

// All returns every function.
var All = sync.OnceValue(func() function.Set { return function.NewSet(registered...) })

// Lookup returns the function of a name, such as "set-labels", and whether there is one. The name is that of the
// function alone: no registry, no tag.
func Lookup(name string) (function.Function, bool) { return All().Lookup(name) }
