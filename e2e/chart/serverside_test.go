// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// Helm 4 has the server apply what it installs, which refuses lists that have a key twice; what merges objects itself does not.
func TestManifestsAreAppliedByTheServer(t *testing.T) {
	t.Parallel()
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	eachRendering(t, func(t *testing.T, r *rendering) {
		for _, o := range r.objects {
			if !scheme.Scheme.Recognizes(o.GroupVersionKind()) {
				continue // a kind of an operator
			}
			if _, err := converter.ObjectToTyped(&o.Unstructured); err != nil {
				t.Errorf("%s: %v", o, err)
			}
		}
	})
}
