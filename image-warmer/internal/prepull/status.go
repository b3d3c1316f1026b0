// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/services/cluster/podstatus"
)

// state is what is known of a pod.
type state struct {
	// done says that the pod has ended or will not; err is nil where the image was pulled.
	done bool
	err  error
	// unschedulable is why there is no place for the pod, which may change.
	unschedulable *podstatus.Problem
	// pulling is the latest trouble with a pull, of which there may be another attempt.
	pulling *podstatus.Problem
	// progress says in a few words how far the pod is.
	progress string
}

// maxPulls is how often a pull must fail to be given up: what passes by itself mostly does so at once.
const maxPulls = 2

// backOff is the reason between two attempts to pull.
const backOff = "ImagePullBackOff"

// tracker follows one pod. It must see every change, in order.
type tracker struct {
	failed int
	// reason is that of the latest problem: several changes in a row may be of one failed pull.
	reason  string
	pulling *podstatus.Problem
}

// observe returns what is known of the pod now.
func (t *tracker) observe(pod *corev1.Pod) state {
	status, problem := podstatus.Of(pod)
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return state{done: true}
	case pod.Status.Phase == corev1.PodFailed:
		return state{done: true, err: problem}
	case pod.DeletionTimestamp != nil:
		return state{done: true, err: errDeleted}
	case status == podstatus.Failed && problem.PullFailed():
		if problem.Reason != t.reason {
			t.failed++
		}
		if t.pulling = problem; t.failed >= maxPulls {
			return state{done: true, err: problem}
		}
	case status == podstatus.Failed && problem.Reason != backOff:
		return state{done: true, err: problem}
	}
	t.reason = ""
	if problem != nil {
		t.reason = problem.Reason
	}
	now := state{pulling: t.pulling, progress: progress(pod)}
	if status == podstatus.Unschedulable {
		now.unschedulable = problem
	}
	return now
}

func progress(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return "waits: " + w.Reason
		}
	}
	if pod.Spec.NodeName == "" {
		return "waits for a node"
	}
	return "waits for the kubelet"
}
