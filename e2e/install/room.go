// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Room is a resource that the worker has as much of as OfferRoom says: pods that request some fit or do not, whatever else the
// cluster has.
const Room = "krmfn.dev/e2e-room"

// OfferRoom has the worker offer that much of Room.
func (i *Installation) OfferRoom(ctx context.Context, amount int) error {
	patch := fmt.Appendf(nil, `{"status":{"capacity":{%[1]q:"%[2]d"},"allocatable":{%[1]q:"%[2]d"}}}`, Room, amount)
	_, err := i.Client.CoreV1().Nodes().Patch(ctx, Worker, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("offer room on %s: %w", Worker, err)
	}
	return nil
}

const podQuota = "e2e-pods"

// LimitPods forbids more than that many pods in the functions' namespace, until UnlimitPods.
func (i *Installation) LimitPods(ctx context.Context, most int) error {
	quotas := i.Client.CoreV1().ResourceQuotas(FunctionNamespace)
	_, err := quotas.Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: podQuota},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(most), resource.DecimalSI)}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("limit the pods of functions: %w", err)
	}
	return await(ctx, "the quota of pods is in force", func(ctx context.Context) (bool, error) {
		quota, err := quotas.Get(ctx, podQuota, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		_, known := quota.Status.Hard[corev1.ResourcePods]
		return known, nil
	})
}

// UnlimitPods takes the limit away.
func (i *Installation) UnlimitPods(ctx context.Context) error {
	return i.Client.CoreV1().ResourceQuotas(FunctionNamespace).Delete(ctx, podQuota, metav1.DeleteOptions{})
}
