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
	// ImageLabel is on every function pod. Its value is the pod's own name.
	ImageLabel = "fn.kpt.dev/image"
	// SlotLabel has which of its function's pods one is.
	SlotLabel = "krmfn.dev/slot"
	// PoolLabel is on those that krmfn has made.
	PoolLabel = "krmfn.dev/pool"
	// ReferenceAnnotation has the image as callers have it.
	ReferenceAnnotation = "krmfn.dev/image"
)

// Live tells whether a pod runs or is about to, and is not on its way out.
func Live(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// FunctionPods lists the live pods of a function, by its image as callers have it; those of all functions if it is empty.
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

// DeleteFunctionPods deletes all pods in the functions' namespace, and waits until so few are left that the next test has
// room on the node: those that are ending hold theirs for some seconds.
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

// Relabel changes a label of a function pod, as kubectl label --overwrite does.
func (i *Installation) Relabel(ctx context.Context, pod *corev1.Pod, label, value string) error {
	return i.patchPod(ctx, pod.Namespace, pod.Name, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, label, value))
}

func (i *Installation) patchPod(ctx context.Context, namespace, name string, patch []byte) error {
	_, err := i.Client.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}
