// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package janitor

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

// list returns all that a sweep decides on, or an error: there is no list with holes, by which the Service of a pod that is not
// in it would look forgotten.
func (j *Janitor) list(ctx context.Context) (sweep.Objects, error) {
	var objects sweep.Objects
	var err error
	// The order matters: whatever these are of must be among the pods, which are listed last.
	if objects.Secret, err = j.secret(ctx); err != nil {
		return sweep.Objects{}, err
	}
	core := j.Client.CoreV1()
	objects.Services, err = pages[*corev1.Service](ctx, functionpod.PoolLabel+","+functionpod.SlotLabel,
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return core.Services(j.Options.Namespace).List(ctx, options)
		})
	if err != nil {
		return sweep.Objects{}, fmt.Errorf("list the Services of namespace %s: %w", j.Options.Namespace, err)
	}
	objects.Pods, err = pages[*corev1.Pod](ctx, "",
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return core.Pods(j.Options.Namespace).List(ctx, options)
		})
	if err != nil {
		return sweep.Objects{}, fmt.Errorf("list the pods of namespace %s: %w", j.Options.Namespace, err)
	}
	return objects, nil
}

// pages returns all objects that have a label. Its pages are of one resource version, the latest at the first of them. When that is
// too old before the last page, everything is asked for once more, and at once.
func pages[T runtime.Object](ctx context.Context, selector string, page pager.ListPageFunc) ([]T, error) {
	p := pager.New(page)
	p.PageSize = pageSize
	found, _, err := p.List(ctx, metav1.ListOptions{LabelSelector: selector})
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
func (j *Janitor) secret(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	if j.Options.SecretName == "" {
		return nil, nil //nolint:nilnil // there is none to look for
	}
	resource := corev1.SchemeGroupVersion.WithResource("secrets")
	secret, err := j.Metadata.Resource(resource).Namespace(j.Options.Namespace).Get(ctx, j.Options.SecretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s/%s (--registry-auth-secret-name): %w", j.Options.Namespace, j.Options.SecretName, err)
	}
	return secret, nil
}
