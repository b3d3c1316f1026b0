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
	// ControlPlane is the node of the control plane, and the container that it is.
	ControlPlane = cluster.Name + "-control-plane"
	// Worker is the other node.
	Worker = cluster.Name + "-worker"
)

// PauseNode freezes all processes of a node until ResumeNode: whatever is sent to its pods is acknowledged by the kernel, and never
// answered.
func (i *Installation) PauseNode(ctx context.Context, node string) error {
	_, err := command.Run(ctx, "docker", "pause", node)
	return err
}

// ResumeNode has a node go on that is paused, and returns when the cluster says that all nodes are ready.
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

// HangAPIServer stops the API server's process, whose connections stay open, until ResumeAPIServer, or until the kubelet has lost
// its patience with it, which takes longer than a minute.
func (i *Installation) HangAPIServer(ctx context.Context) error {
	if err := signalAPIServer(ctx, "STOP"); err != nil {
		return err
	}
	return i.awaitAPIServer(ctx, false)
}

// ResumeAPIServer has the API server go on, and returns when it answers, all nodes are ready, and the function runners too.
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

// OpenControlPlane lets pods run on the node of the control plane that tolerate nothing, until CloseControlPlane.
func (i *Installation) OpenControlPlane(ctx context.Context) error {
	return i.updateNode(ctx, ControlPlane, func(node *corev1.Node) { node.Spec.Taints = nil })
}

// CloseControlPlane lets no more pods run there.
func (i *Installation) CloseControlPlane(ctx context.Context) error {
	return i.updateNode(ctx, ControlPlane, func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	})
}

// Cordon says whether pods may be scheduled to a node, and returns when that is so: a controller taints the node after it was told, and
// the taint outlasts what it tells of for a moment.
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
