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

// HangingClient is a pod client whose API server can hang: create, delete and patch requests then block until their contexts end.
type HangingClient struct {
	typedcorev1.PodInterface

	hangs atomic.Bool
	late  atomic.Int64
}

// HangingClient returns a client whose API server does not hang yet.
func (c *Cluster) HangingClient() *HangingClient {
	return &HangingClient{PodInterface: c.Client.CoreV1().Pods(Namespace)}
}

// AnswerDeletes delays the responses to delete requests, so that the watch shows the deletion first.
func (c *HangingClient) AnswerDeletes(late time.Duration) { c.late.Store(int64(late)) }

// Hang makes the API server hang, or respond again.
func (c *HangingClient) Hang(hang bool) { c.hangs.Store(hang) }

// IsWatchListSemanticsUnSupported makes informers begin with a list request.
func (*HangingClient) IsWatchListSemanticsUnSupported() bool { return true }

// answered blocks while the API server hangs, and returns the error of ctx.
func (c *HangingClient) answered(ctx context.Context) error {
	if !c.hangs.Load() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// Create implements podmanager.Pods.
func (c *HangingClient) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	if err := c.answered(ctx); err != nil {
		return nil, err
	}
	return c.PodInterface.Create(ctx, pod, o)
}

// Delete implements podmanager.Pods.
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

// Patch implements podmanager.Pods.
func (c *HangingClient) Patch(ctx context.Context, name string, t types.PatchType, data []byte, o metav1.PatchOptions, s ...string) (*corev1.Pod, error) {
	if err := c.answered(ctx); err != nil {
		return nil, err
	}
	return c.PodInterface.Patch(ctx, name, t, data, o, s...)
}
