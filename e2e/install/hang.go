// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/krmfn/krmfn/e2e/cluster"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

const (
	// ControlPlane is the name of the control plane node and of its container.
	ControlPlane = cluster.Name + "-control-plane"
	// Worker is the name of the other node.
	Worker = cluster.Name + "-worker"
)

// PauseNode freezes all processes of a node until ResumeNode. The kernel acknowledges packets to the node's pods, but no process answers.
func (i *Installation) PauseNode(ctx context.Context, node string) error {
	_, err := command.Run(ctx, "docker", "pause", node)
	return err
}

// ResumeNode resumes a paused node, and waits until all nodes are ready.
func (i *Installation) ResumeNode(ctx context.Context, node string) error {
	paused, err := command.Run(ctx, "docker", "ps", "--quiet", "--filter=status=paused", "--filter=name="+node)
	if err != nil {
		return err
	}
	if paused != "" {
		if _, err := command.Run(ctx, "docker", "unpause", node); err != nil {
			return err
		}
	}
	return i.awaitAPIServer(ctx, true)
}

// HangAPIServer stops the API server with SIGSTOP, which keeps its connections open, until ResumeAPIServer. After more than a minute, the
// kubelet restarts the API server.
func (i *Installation) HangAPIServer(ctx context.Context) error {
	if err := signalAPIServer(ctx, "STOP"); err != nil {
		return err
	}
	return i.awaitAPIServer(ctx, false)
}

// ResumeAPIServer continues the API server, and waits until it responds and all nodes and function runners are ready.
func (i *Installation) ResumeAPIServer(ctx context.Context) error {
	if err := signalAPIServer(ctx, "CONT"); err != nil {
		return err
	}
	return i.awaitControlPlane(ctx)
}

func signalAPIServer(ctx context.Context, signal string) error {
	_, err := command.Run(ctx, "docker", "exec", ControlPlane, "sh", "-c", fmt.Sprintf("kill -%s $(pidof kube-apiserver)", signal))
	return err
}

// OpenControlPlane removes the taints of the control plane node, so that pods without tolerations can run there, until CloseControlPlane.
func (i *Installation) OpenControlPlane(ctx context.Context) error {
	return i.updateNode(ctx, ControlPlane, func(node *corev1.Node) { node.Spec.Taints = nil })
}

// CloseControlPlane restores the taint of the control plane node.
func (i *Installation) CloseControlPlane(ctx context.Context) error {
	return i.updateNode(ctx, ControlPlane, func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	})
}

// Cordon sets whether a node is unschedulable, and waits for the matching taint. A controller adds and removes the taint with a delay.
func (i *Installation) Cordon(ctx context.Context, name string, unschedulable bool) error {
	if err := i.updateNode(ctx, name, func(node *corev1.Node) { node.Spec.Unschedulable = unschedulable }); err != nil {
		return err
	}
	return await(ctx, fmt.Sprintf("node %s is tainted as unschedulable: %t", name, unschedulable), func(ctx context.Context) (bool, error) {
		node, err := i.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		tainted := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeUnschedulable })
		return tainted == unschedulable, nil
	})
}

func (i *Installation) updateNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	nodes := i.Client.CoreV1().Nodes()
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(node)
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}
