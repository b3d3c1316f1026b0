// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/image-warmer/internal/publish"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

// removeTimeout is the timeout for deleting one pod, and for listing leftover pods. It also applies after the context has ended.
const removeTimeout = 10 * time.Second

// remove deletes a pod, but no other pod with the same name.
func (p *Puller) remove(ctx context.Context, pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	p.delete(ctx, pod)
}

func (p *Puller) delete(ctx context.Context, pod *corev1.Pod) {
	err := p.Client.Delete(ctx, pod.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	// A conflict means that another pod has the name.
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		p.Log.WarnContext(ctx, "a pod was not deleted, a later run deletes it", "pod", pod.Name, "namespace", pod.Namespace, "err", err)
	}
}

// sweep deletes the leftover pods of this run: pods whose deletion failed, and pods whose create response was lost.
func (p *Puller) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	_, err := p.removeAll(ctx, functionpod.WarmerLabel+"="+p.Run, 0)
	if err != nil {
		p.Log.WarnContext(ctx, "pods may be left, a later run deletes them", "run", p.Run, "namespace", p.Namespace, "err", err)
	}
}

// RemoveLeftovers deletes the pods of earlier runs that are older than Config.Timeout, and returns their number. It logs failed deletions.
// It returns an error if pods cannot be listed.
func (p *Puller) RemoveLeftovers(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*removeTimeout)
	defer cancel()
	removed, err := p.removeAll(ctx, functionpod.WarmerLabel+"!="+p.Run+","+functionpod.WarmerLabel+","+publish.ManagedByLabel+"="+publish.Manager, p.Timeout)
	if err != nil {
		return 0, fmt.Errorf("list pods of earlier runs in namespace %s: %w", p.Namespace, err)
	}
	return removed, nil
}

// removeAll deletes the pods that match a label selector and are older than a duration, and returns their number.
func (p *Puller) removeAll(ctx context.Context, selector string, older time.Duration) (int, error) {
	found, err := p.Client.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return 0, err
	}
	removed := 0
	for i := range found.Items {
		if pod := &found.Items[i]; pod.DeletionTimestamp == nil && (older == 0 || time.Since(pod.CreationTimestamp.Time) > older) {
			p.delete(ctx, pod)
			removed++
		}
	}
	return removed, nil
}
