// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

func TestExecConfig(t *testing.T) {
	t.Parallel()
	got, err := ExecConfig([]function.Function{
		{Name: "set-labels", Version: "v0.2.4"},
		{Name: "starlark", Version: "v0.5.5", Traits: function.Traits{Worker: true, Deterministic: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `functions:
- function: set-labels
  images:
  - ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.4
  - ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2
  - gcr.io/kpt-fn/set-labels:v0.2.4
  - gcr.io/kpt-fn/set-labels:v0.2
  version: v0.2.4
- deterministic: true
  function: starlark
  images:
  - ghcr.io/kptdev/krm-functions-catalog/starlark:v0.5.5
  - ghcr.io/kptdev/krm-functions-catalog/starlark:v0.5
  - gcr.io/kpt-fn/starlark:v0.5.5
  - gcr.io/kpt-fn/starlark:v0.5
  version: v0.5.5
  worker: true
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("config file (-want +got):\n%s", diff)
	}
}
