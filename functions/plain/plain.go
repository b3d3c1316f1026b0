// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package plain lists the curated functions that a server can evaluate in its own process. They do not run code from packages,
// such as scripts, policies, patterns and templates, and do not link large libraries. Package functions lists all functions.
package plain

import (
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
	"github.com/krmfn/krmfn/functions/setannotations"
	"github.com/krmfn/krmfn/functions/setenforcementaction"
	"github.com/krmfn/krmfn/functions/setimage"
	"github.com/krmfn/krmfn/functions/setlabels"
	"github.com/krmfn/krmfn/functions/setnameprefix"
	"github.com/krmfn/krmfn/functions/setnamespace"
	"github.com/krmfn/krmfn/functions/setprojectid"
	"github.com/krmfn/krmfn/functions/upsertresource"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

var plain = function.NewSet(
	applysetters.Function,
	repeating(createsetters.Function),
	deleteannotations.Function,
	repeating(ensurenamesubstring.Function),
	fix.Function,
	format.Function,
	generatekptpkgdocs.Function,
	listsetters.Function,
	noop.Function,
	removelocalconfigresources.Function,
	repeating(setannotations.Function),
	repeating(setenforcementaction.Function),
	repeating(setimage.Function),
	repeating(setlabels.Function),
	repeating(setnameprefix.Function),
	repeating(setnamespace.Function),
	repeating(setprojectid.Function),
	upsertresource.Function,
)

// Functions returns the plain functions.
func Functions() function.Set { return plain }
