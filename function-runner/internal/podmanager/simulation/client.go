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
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// HangingClient is a client of an API server that may hang: requests that change pods are swallowed then.
type HangingClient struct {
	kubernetes.Interface

	hangs atomic.Bool
	late  atomic.Int64
}

// HangingClient returns a client whose API server does not hang yet.
func (c *Cluster) HangingClient() *HangingClient { return &HangingClient{Interface: c.Client} }

// AnswerDeletes has the answers to delete requests come so late that the watch shows first what has become of them.
func (c *HangingClient) AnswerDeletes(late time.Duration) { c.late.Store(int64(late)) }

// Hang has the API server hang, or answer again.
func (c *HangingClient) Hang(hang bool) { c.hangs.Store(hang) }

// IsWatchListSemanticsUnSupported says that watches begin with a list.
func (*HangingClient) IsWatchListSemanticsUnSupported() bool { return true }

// CoreV1 returns the client of the group.
func (c *HangingClient) CoreV1() typedcorev1.CoreV1Interface {
	return hangingCore{c.Interface.CoreV1(), c}
}

type hangingCore struct {
	typedcorev1.CoreV1Interface

	client *HangingClient
}

// Pods returns the client of pods.
func (c hangingCore) Pods(namespace string) typedcorev1.PodInterface {
	return hangingPods{c.CoreV1Interface.Pods(namespace), c.client}
}

type hangingPods struct {
	typedcorev1.PodInterface

	client *HangingClient
}

// answered returns the error of a request that is not answered.
func (p hangingPods) answered(ctx context.Context) error {
	if !p.client.hangs.Load() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// Create creates a pod.
func (p hangingPods) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	if err := p.answered(ctx); err != nil {
		return nil, err
	}
	return p.PodInterface.Create(ctx, pod, o)
}

// Delete deletes a pod.
func (p hangingPods) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	if err := p.answered(ctx); err != nil {
		return err
	}
	err := p.PodInterface.Delete(ctx, name, o)
	late := time.Duration(p.client.late.Load())
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
func (p hangingPods) Patch(ctx context.Context, name string, t types.PatchType, data []byte, o metav1.PatchOptions, s ...string) (*corev1.Pod, error) {
	if err := p.answered(ctx); err != nil {
		return nil, err
	}
	return p.PodInterface.Patch(ctx, name, t, data, o, s...)
}
