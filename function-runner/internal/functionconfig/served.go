// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Served tells whether an API server has FunctionConfig objects, by a client of its discovery, which everybody may ask.
func Served(ctx context.Context, discovery rest.Interface) (bool, error) {
	resources := &metav1.APIResourceList{}
	err := discovery.Get().AbsPath("/apis", Resource.Group, Resource.Version).Do(ctx).Into(resources)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == Resource.Resource }), err
}
