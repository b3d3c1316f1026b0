// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package noop

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestNoOp(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{Name: "nothing"},
		{
			Name: "any list", Config: "any: thing",
			Items: "- {kind: B, metadata: {name: b}, s: {z: &z 1, a: *z}} # b\n- {apiVersion: v1, kind: A, metadata: x}\n- {}\n",
			Want:  "items:\n- {kind: B, metadata: {name: b}, s: {z: &z 1, a: *z}} # b\n- {apiVersion: v1, kind: A, metadata: x}\n- {}\n",
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}
