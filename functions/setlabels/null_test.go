// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setlabels

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

// An alias that contains itself fails the call and does not crash the process.
func TestSetAnnotationsEndlessAlias(t *testing.T) {
	t.Parallel()
	items := "- apiVersion: v1\n  kind: A\n  metadata:\n    name: a\n  spec:\n    x: &a [*a]\n"
	config := "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetAnnotations\nmetadata:\n  name: c\nannotations:\n  k: v\n" +
		"additionalAnnotationFields:\n- path: spec/x[]/annotations\n  create: true\n"
	if _, err := functiontest.Evaluate(t, Function, functiontest.List(items, config)); err == nil {
		t.Error("Evaluate() = nil, want an error")
	}
}

// The comment after a null labels field is kept.
func TestSetLabelsKeepsTheCommentOfNull(t *testing.T) {
	t.Parallel()
	items := "- apiVersion: v1\n  kind: A\n  metadata:\n    name: a\n    labels: null # mine\n- apiVersion: v1\n  kind: B\n  metadata:\n    name: b\n"
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  k: v\n"
	out, err := functiontest.Evaluate(t, Function, functiontest.List(items, config))
	if want := "    labels: # mine\n      k: v\n"; err != nil || !strings.Contains(out, want) {
		t.Errorf("error = %v; output:\n%s\nwant %q in it", err, out, want)
	}
}
