// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Joining is the name of a node without a kubelet, and the key of its taint.
const Joining = "krmfn-e2e-joining"

// readyStatus is the status of a ready node that fits a few pods. Without heartbeats, the node becomes unready after 40 seconds.
const readyStatus = `{"status": {
	"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": %[1]q, "lastTransitionTime": %[1]q}],
	"capacity": {"cpu": "1", "memory": "1Gi", "pods": "10"}, "allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}}`

// JoinNode adds the node Joining and marks it as ready. The scheduler assigns pods that tolerate its taint to the node, but no kubelet runs
// them. LeaveNode deletes the node.
func (i *Installation) JoinNode(ctx context.Context) error {
	nodes := i.Client.CoreV1().Nodes()
	// The node lacks the operating system label, so that the cluster's DaemonSets do not create pods for it.
	_, err := nodes.Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: Joining},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: Joining, Effect: corev1.TaintEffectNoSchedule}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("add node %s: %w", Joining, err)
	}
	status := fmt.Appendf(nil, readyStatus, metav1.Now().UTC().Format("2006-01-02T15:04:05Z"))
	if _, err := nodes.Patch(ctx, Joining, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("mark node %s as ready: %w", Joining, err)
	}
	return nil
}

// LeaveNode deletes the node, if it exists, and the pods on it in the function namespace, which no kubelet would terminate.
func (i *Installation) LeaveNode(ctx context.Context) error {
	if err := i.Client.CoreV1().Nodes().Delete(ctx, Joining, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	pods, err := i.Client.CoreV1().Pods(i.Release.FunctionNamespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + Joining})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if err := i.Kill(ctx, pod.Namespace, pod.Name); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// Succeed sets the phase of a pod without a kubelet to Succeeded.
func (i *Installation) Succeed(ctx context.Context, pod *corev1.Pod) error {
	_, err := i.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"status": {"phase": "Succeeded"}}`),
		metav1.PatchOptions{}, "status")
	return err
}
