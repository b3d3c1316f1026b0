// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"slices"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/functions"
)

func TestAdviseOnMissing(t *testing.T) {
	t.Parallel()
	const list = "see `krmfn functions` for what there is, or name a function runner that has it with --runner"
	for image, want := range map[string]string{
		"ghcr.io/kptdev/krm-functions-catalog/set-label:v0.2":  "did you mean set-labels? Otherwise " + list,
		"example.com/own/set-labelz@sha256:abc":                "did you mean set-labels? Otherwise " + list,
		"ensure-name":                                          "did you mean ensure-name-substring? Otherwise " + list,
		"Starlrak":                                             "did you mean starlark? Otherwise " + list,
		"ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2": list,
		"ghcr.io/kptdev/krm-functions-catalog/nothing-like-it": list,
		"gcr.io/kpt-fn/export-terraform:v0.1": "krmfn does not have the catalog's export-terraform: " +
			"run its image with a container engine or in a sandbox (--runtime builtin,engine,sandbox), with a function runner that starts pods (--runner), or with kpt",
		"example.com/own/export-terraform:v0.1": list,
	} {
		if got := adviseOnMissing(image); got != want {
			t.Errorf("of %s:\n got %s\nwant %s", image, got, want)
		}
	}
}

func TestElsewhereIsNotHere(t *testing.T) {
	t.Parallel()
	if !slices.IsSortedFunc(elsewhere, strings.Compare) {
		t.Error("the names are not sorted")
	}
	for _, name := range elsewhere {
		if _, ok := functions.Lookup(name); ok {
			t.Errorf("krmfn has %s", name)
		}
	}
}
