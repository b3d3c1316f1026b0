// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package kubeconform

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

func TestKubeconformResults(t *testing.T) {
	t.Parallel()
	const resource = "apiVersion: v1\nkind: ConfigMap\ndata: 1\nmetadata:\n  name: c\n  namespace: ns\n"
	ref := &fn.ResourceRef{APIVersion: "v1", Kind: "ConfigMap", Name: "c", Namespace: "ns"}
	tests := map[string]struct {
		items string
		file  *fn.File
	}{
		"no file": {
			items: resource,
		},
		"index only": {
			items: resource + "  annotations: {internal.config.kubernetes.io/index: '3'}",
		},
		"file": {
			items: resource + "  annotations: {internal.config.kubernetes.io/path: a/b.yaml}",
			file:  &fn.File{Path: "a/b.yaml"},
		},
		"file and index": {
			items: resource + "  annotations: {internal.config.kubernetes.io/path: b.yaml, internal.config.kubernetes.io/index: '3'}",
			file:  &fn.File{Path: "b.yaml", Index: 3},
		},
		"legacy annotations": {
			items: resource + "  annotations: {config.kubernetes.io/path: b.yaml, config.kubernetes.io/index: '3'}",
			file:  &fn.File{Path: "b.yaml", Index: 3},
		},
		"not a number": {
			items: resource + "  annotations: {config.kubernetes.io/path: b.yaml, config.kubernetes.io/index: '-x'}",
			file:  &fn.File{Path: "b.yaml"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rl := kubeconformList(t, test.items, "")
			earlier := &fn.Result{Message: "of an earlier function", Severity: fn.Info}
			rl.Results = fn.Results{earlier}
			if ok, err := kubeconform(t.Context(), rl); ok || err != nil {
				t.Errorf("kubeconform() = %t, %v, want false and no error", ok, err)
			}
			want := fn.Results{earlier, {
				Message:     "got number, want null or object",
				Severity:    fn.Error,
				ResourceRef: ref,
				Field:       &fn.Field{Path: "data"},
				File:        test.file,
			}}
			if diff := cmp.Diff(want, rl.Results); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKubeconformStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rl := kubeconformList(t, functiontest.Package, "")
	if ok, err := kubeconform(ctx, rl); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("kubeconform() = %t, %v, want false and %v", ok, err, context.Canceled)
	}
}

func TestKubeconformRuns(t *testing.T) {
	t.Parallel()
	out, err := function.Run(t.Context(), Function, []byte("kind: ResourceList\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {}}\n"))
	if functiontest.ErrorText(err) != functiontest.Failed {
		t.Errorf("error = %v, want %v", err, functiontest.Failed)
	}
	const want = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {}}
results:
- field:
    path: spec
  message: missing property 'containers'
  resourceRef:
    name: p
    apiVersion: v1
    kind: Pod
  severity: error
`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
