// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functions lists krmfn's curated KRM functions: each is a package below this one, which exports its Function.
//
// A function behaves as the function of its name in the KRM functions catalog does: functionConfig forms, result texts
// and severities, field paths, exit codes. What it prints has the form of the functions SDK
// (github.com/kptdev/krm-functions-sdk/go/fn). QUIRKS.md lists the oddities of the catalog's functions and which of them
// are kept.
//
// To add a function, create a package that is named as it is, without the dashes, and add a line to one list: that of heavy.go if
// what the function links takes long to start, else that of this file if the function runs what packages write, else that of package plain.
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

// All returns every function. A program that is built with the tag "light" lacks the heavy ones.
func All() function.Set { return all }

// Lookup returns the function of a name, such as "set-labels", and whether there is one. The name is that of the
// function alone: no registry, no tag.
func Lookup(name string) (function.Function, bool) { return all.Lookup(name) }
