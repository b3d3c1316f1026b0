// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// ImageLabel is a label of every function pod. Its value is the pod's name.
	ImageLabel = "fn.kpt.dev/image"
	// OrdinalLabel is the label with the pod's ordinal in its pool.
	OrdinalLabel = "krmfn.dev/ordinal"
	// PoolLabel is a label of function pods that krmfn created.
	PoolLabel = "krmfn.dev/pool"
	// ReferenceAnnotation is the annotation with the image reference that callers use.
	ReferenceAnnotation = "krmfn.dev/image"
)

// Live reports whether a pod is pending or running and is not terminating.
func Live(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// FunctionPods lists the live pods of a function, given the image reference that callers use. An empty image selects all functions.
func (i *Installation) FunctionPods(ctx context.Context, image string) ([]corev1.Pod, error) {
	list, err := i.Client.CoreV1().Pods(i.Release.FunctionNamespace).List(ctx, metav1.ListOptions{LabelSelector: ImageLabel})
	if err != nil {
		return nil, fmt.Errorf("function pods: %w", err)
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if Live(&pod) && (image == "" || pod.Annotations[ReferenceAnnotation] == image) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// DeleteFunctionPods deletes all pods in the function namespace, and waits until at most two are left. Terminating pods still reserve
// resources on the node that the next test needs.
func (i *Installation) DeleteFunctionPods(ctx context.Context) error {
	const leftovers = 2
	pods := i.Client.CoreV1().Pods(i.Release.FunctionNamespace)
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete the function pods: %w", err)
	}
	return await(ctx, "the function pods are gone", func(ctx context.Context) (bool, error) {
		left, err := pods.List(ctx, metav1.ListOptions{})
		return err == nil && len(left.Items) <= leftovers, err
	})
}

// Relabel sets a label of a function pod, like kubectl label --overwrite.
func (i *Installation) Relabel(ctx context.Context, pod *corev1.Pod, label, value string) error {
	return i.patchPod(ctx, pod.Namespace, pod.Name, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, label, value))
}

func (i *Installation) patchPod(ctx context.Context, namespace, name string, patch []byte) error {
	_, err := i.Client.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}
