// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// HangingClient has the pods of an API server that may hang: requests that change pods are swallowed then.
type HangingClient struct {
	typedcorev1.PodInterface

	hangs atomic.Bool
	late  atomic.Int64
}

// HangingClient returns a client whose API server does not hang yet.
func (c *Cluster) HangingClient() *HangingClient {
	return &HangingClient{PodInterface: c.Client.CoreV1().Pods(Namespace)}
}

// AnswerDeletes has the answers to delete requests come so late that the watch shows first what has become of them.
func (c *HangingClient) AnswerDeletes(late time.Duration) { c.late.Store(int64(late)) }

// Hang has the API server hang, or answer again.
func (c *HangingClient) Hang(hang bool) { c.hangs.Store(hang) }

// IsWatchListSemanticsUnSupported says that watches begin with a list.
func (*HangingClient) IsWatchListSemanticsUnSupported() bool { return true }

// answered returns the error of a request that is not answered.
func (c *HangingClient) answered(ctx context.Context) error {
	if !c.hangs.Load() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// Create creates a pod.
func (c *HangingClient) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	if err := c.answered(ctx); err != nil {
		return nil, err
	}
	return c.PodInterface.Create(ctx, pod, o)
}

// Delete deletes a pod.
func (c *HangingClient) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	if err := c.answered(ctx); err != nil {
		return err
	}
	err := c.PodInterface.Delete(ctx, name, o)
	late := time.Duration(c.late.Load())
	if late <= 0 {
		return err
	}
	select {
	case <-time.After(late):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Patch changes a pod.
func (c *HangingClient) Patch(ctx context.Context, name string, t types.PatchType, data []byte, o metav1.PatchOptions, s ...string) (*corev1.Pod, error) {
	if err := c.answered(ctx); err != nil {
		return nil, err
	}
	return c.PodInterface.Patch(ctx, name, t, data, o, s...)
}
