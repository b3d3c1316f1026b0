// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/krmfn/krmfn/internal/cluster/client"
)

// Client holds clients for the objects of function pods in one namespace.
type Client struct {
	Pods     Pods
	Services Services
}

// Pods is a client for the pods of a namespace.
type Pods interface {
	client.Watchable[*corev1.PodList]
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Pod, error)
	Create(ctx context.Context, pod *corev1.Pod, options metav1.CreateOptions) (*corev1.Pod, error)
	Patch(ctx context.Context, name string, t types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (*corev1.Pod, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// Services is a client for the Services of a namespace.
type Services interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Service, error)
	Create(ctx context.Context, service *corev1.Service, options metav1.CreateOptions) (*corev1.Service, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// ConfigMaps is a client for the ConfigMaps of a namespace.
type ConfigMaps interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.ConfigMap, error)
}
