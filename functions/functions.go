// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functions lists krmfn's curated KRM functions: each is a package below this one, which exports its Function.
//
// A function behaves as the function of its name in the KRM functions catalog does: functionConfig forms, result texts
// and severities, field paths, exit codes. What it prints has the form of the functions SDK
// (github.com/kptdev/krm-functions-sdk/go/fn). QUIRKS.md lists the oddities of the catalog's functions and which of them
// are kept.
//
// To add a function, create a package that is named as it is, without the dashes, and add a line to the list: the one of
// this file, or that of heavy.go if what it links takes long to start.
package functions

import (
	"slices"

	"github.com/krmfn/krmfn/functions/applyreplacements"
	"github.com/krmfn/krmfn/functions/applysetters"
	"github.com/krmfn/krmfn/functions/createsetters"
	"github.com/krmfn/krmfn/functions/deleteannotations"
	"github.com/krmfn/krmfn/functions/ensurenamesubstring"
	"github.com/krmfn/krmfn/functions/fix"
	"github.com/krmfn/krmfn/functions/format"
	"github.com/krmfn/krmfn/functions/generatekptpkgdocs"
	"github.com/krmfn/krmfn/functions/listsetters"
	"github.com/krmfn/krmfn/functions/noop"
	"github.com/krmfn/krmfn/functions/removelocalconfigresources"
	"github.com/krmfn/krmfn/functions/searchreplace"
	"github.com/krmfn/krmfn/functions/setannotations"
	"github.com/krmfn/krmfn/functions/setenforcementaction"
	"github.com/krmfn/krmfn/functions/setimage"
	"github.com/krmfn/krmfn/functions/setlabels"
	"github.com/krmfn/krmfn/functions/setnameprefix"
	"github.com/krmfn/krmfn/functions/setnamespace"
	"github.com/krmfn/krmfn/functions/setprojectid"
	"github.com/krmfn/krmfn/functions/starlark"
	"github.com/krmfn/krmfn/functions/upsertresource"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

var all = function.NewSet(slices.Concat(heavy, []function.Function{
	applyreplacements.Function,
	applysetters.Function,
	createsetters.Function,
	deleteannotations.Function,
	ensurenamesubstring.Function,
	fix.Function,
	format.Function,
	generatekptpkgdocs.Function,
	listsetters.Function,
	noop.Function,
	removelocalconfigresources.Function,
	searchreplace.Function,
	setannotations.Function,
	setenforcementaction.Function,
	setimage.Function,
	setlabels.Function,
	setnameprefix.Function,
	setnamespace.Function,
	setprojectid.Function,
	starlark.Function,
	upsertresource.Function,
})...)

// All returns every function. A program that is built with the tag "light" lacks the heavy ones.
func All() function.Set { return all }

// Lookup returns the function of a name, such as "set-labels", and whether there is one. The name is that of the
// function alone: no registry, no tag.
func Lookup(name string) (function.Function, bool) { return all.Lookup(name) }
