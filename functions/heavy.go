// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package functions

import (
	"github.com/krmfn/krmfn/functions/gatekeeper"
	"github.com/krmfn/krmfn/functions/kubeconform"
	"github.com/krmfn/krmfn/functions/renderhelmchart"
	"github.com/krmfn/krmfn/functions/validatecel"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// heavy lists the functions with libraries that are slow to initialise.
var heavy = []function.Function{
	gatekeeper.Function,
	kubeconform.Function,
	kubeconform.Kubeval,
	renderhelmchart.Function,
	validatecel.Function,
}
