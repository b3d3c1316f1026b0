// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package binarytest_test

import (
	"slices"
	"testing"

	"github.com/krmfn/krmfn/internal/server/binarytest"
)

func TestImports(t *testing.T) {
	t.Parallel()
	want := binarytest.Import{Importer: "github.com/krmfn/krmfn/internal/server/binarytest", Imported: "os/exec"}
	if got := binarytest.Imports(t); !slices.Contains(got, want) {
		t.Errorf("Imports() = %v, want %v among them", got, want)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	list := []string{"k8s.io/client-go/kubernetes"}
	for pkg, want := range map[string]bool{
		"k8s.io/client-go/kubernetes":        true,
		"k8s.io/client-go/kubernetes/scheme": true,
		"k8s.io/client-go/kubernetesx":       false,
		"k8s.io/client-go":                   false,
	} {
		if got := binarytest.Matches(pkg, list); got != want {
			t.Errorf("Matches(%s) = %v, want %v", pkg, got, want)
		}
	}
}
