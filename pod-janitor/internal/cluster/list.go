// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
	"github.com/krmfn/krmfn/services/cluster/functionpod"
)

// pageSize is how many objects the API server is asked for at once.
const pageSize = 500

// List returns all that a sweep decides on, or an error: there is no list with holes, by which the Service of a pod that is not
// in it would look forgotten.
func (c *Cluster) List(ctx context.Context) (sweep.Objects, error) {
	var objects sweep.Objects
	var err error
	// The order matters: whatever these are of must be among the pods, which are listed last.
	if objects.Secret, err = c.secret(ctx); err != nil {
		return sweep.Objects{}, err
	}
	core := c.config.Client.CoreV1()
	objects.Services, err = list[*corev1.Service](ctx, functionpod.PoolLabel+","+functionpod.SlotLabel,
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return core.Services(c.config.Namespace).List(ctx, options)
		})
	if err != nil {
		return sweep.Objects{}, fmt.Errorf("list the Services of namespace %s: %w", c.config.Namespace, err)
	}
	objects.Pods, err = list[*corev1.Pod](ctx, "",
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return core.Pods(c.config.Namespace).List(ctx, options)
		})
	if err != nil {
		return sweep.Objects{}, fmt.Errorf("list the pods of namespace %s: %w", c.config.Namespace, err)
	}
	return objects, nil
}

// list returns all objects that have a label. Its pages are of one resource version, the latest at the first of them. When that is
// too old before the last page, everything is asked for once more, and at once.
func list[T runtime.Object](ctx context.Context, selector string, page pager.ListPageFunc) ([]T, error) {
	pages := pager.New(page)
	pages.PageSize = pageSize
	found, _, err := pages.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	var all []T
	err = meta.EachListItem(found, func(o runtime.Object) error {
		object, ok := o.(T)
		if !ok {
			return fmt.Errorf("the list has a %T, want %T", o, object)
		}
		all = append(all, object)
		return nil
	})
	return all, err
}

// secret returns the pull secret, or nil where there is none.
func (c *Cluster) secret(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	if c.config.SecretName == "" {
		return nil, nil //nolint:nilnil // there is none to look for
	}
	resource := corev1.SchemeGroupVersion.WithResource("secrets")
	secret, err := c.config.Metadata.Resource(resource).Namespace(c.config.Namespace).Get(ctx, c.config.SecretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s/%s (--registry-auth-secret-name): %w", c.config.Namespace, c.config.SecretName, err)
	}
	return secret, nil
}
