// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// Helm 4 uses server-side apply, which rejects duplicate keys in lists. Client-side merging accepts them.
func TestManifestsAreAppliedByTheServer(t *testing.T) {
	t.Parallel()
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	eachRendering(t, func(t *testing.T, r *rendering) {
		for _, o := range r.objects {
			if !scheme.Scheme.Recognizes(o.GroupVersionKind()) {
				continue // custom resources
			}
			if _, err := converter.ObjectToTyped(&o.Unstructured); err != nil {
				t.Errorf("%s: %v", o, err)
			}
		}
	})
}
