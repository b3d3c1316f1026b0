// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functions lists krmfn's curated KRM functions. Each function is in a package below this one, which exports Function.
//
// A function behaves like the function of the same name in the KRM functions catalog: forms of functionConfig, result messages
// and severities, field paths, exit codes. Its output has the format of the functions SDK
// (github.com/kptdev/krm-functions-sdk/go/fn). QUIRKS.md lists peculiarities of the catalog's functions and which of them are
// kept.
//
// To add a function, create a package with the function's name without dashes, and add a line to one list: in heavy.go if its
// libraries are slow to initialise, else in this file if it runs code from packages, such as scripts, else in package plain.
package functions

import (
	"slices"

	"github.com/krmfn/krmfn/functions/applyreplacements"
	"github.com/krmfn/krmfn/functions/plain"
	"github.com/krmfn/krmfn/functions/searchreplace"
	"github.com/krmfn/krmfn/functions/starlark"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

var all = function.NewSet(slices.Concat(plain.Functions(), heavy, []function.Function{
	applyreplacements.Function,
	searchreplace.Function,
	starlark.Function,
})...)

// All returns all functions. With the build tag "light", heavy functions are missing.
func All() function.Set { return all }

// Lookup returns the function with a name, such as "set-labels". The name has no registry and no tag.
func Lookup(name string) (function.Function, bool) { return all.Lookup(name) }
