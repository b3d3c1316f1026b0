// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package functions

import "testing"

func FuzzGatekeeper(f *testing.F) {
	f.Add([]byte("kind: ResourceList\nitems:" + ruleOf(`package x violation[{"msg": msg}] { msg := replace(input.review.name, "m", "n") }`)))
	fuzzFunction(f, "gatekeeper")
}

func FuzzRenderHelmChart(f *testing.F) { fuzzFunction(f, "render-helm-chart") }
