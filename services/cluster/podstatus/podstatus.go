// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podstatus reads from the status of a pod how far it is and why it does not get ready, in the words of the scheduler
// and the kubelet.
package podstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// State is what to expect of a pod that is not ready.
type State int

const (
	// Pending pods get ready as far as their status tells.
	Pending State = iota
	// Unschedulable pods do not get ready as things are, but an autoscaler may add a node.
	Unschedulable
	// Restarting pods have a container that ended and starts anew. One that never ran well will not do so now.
	Restarting
	// Failed pods do not get ready, and may be deleted.
	Failed
)

// Problem is why a pod does not get ready.
type Problem struct {
	// Reason is the word that Kubernetes has for it, such as ErrImagePull.
	Reason string
	// Message is the explanation of Kubernetes. It may be long and have several lines.
	Message string
}

// maxMessage bounds errors, in bytes: an Unschedulable message has a clause for each kind of node.
const maxMessage = 1000

func (p *Problem) Error() string {
	message := strings.Join(strings.Fields(p.Message), " ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	if message == "" {
		return p.Reason
	}
	return p.Reason + ": " + message
}

// PullFailed reports whether the node has tried to get an image and failed. The kubelet tries again, and says so by
// ImagePullBackOff between two attempts.
func (p *Problem) PullFailed() bool {
	return slices.Contains([]string{"ErrImagePull", "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed"}, p.Reason)
}

// lasting are the reasons of waiting containers that do not go away by themselves soon.
var lasting = []string{
	"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable",
	"SignatureValidationFailed",
	"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError", "PreStartHookError", "PostStartHookError",
	"CrashLoopBackOff",
}

// throttled is what the kubelet says of a pull that it has put off because it has begun many others. It begins with it soon.
const throttled = "pull QPS exceeded"

// Of returns the state of a pod, and why unless it is Pending.
func Of(pod *corev1.Pod) (State, *Problem) {
	status := &pod.Status
	if status.Phase == corev1.PodFailed || status.Phase == corev1.PodSucceeded {
		if problem := exited(status); problem != nil && status.Reason == "" {
			return Failed, problem
		}
		return Failed, &Problem{cmp.Or(status.Reason, string(status.Phase)), status.Message}
	}
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		waiting := c.State.Waiting
		if waiting == nil || !slices.Contains(lasting, waiting.Reason) || strings.Contains(waiting.Message, throttled) {
			continue
		}
		// Of a container that cannot be kept running, the reason is in how it ended.
		if ended := c.LastTerminationState.Terminated; ended != nil && waiting.Reason == "CrashLoopBackOff" {
			return Failed, &Problem{waiting.Reason, termination(c.Name, ended)}
		}
		return Failed, &Problem{waiting.Reason, waiting.Message}
	}
	if problem := exited(status); problem != nil {
		return Restarting, problem
	}
	for _, c := range status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return Unschedulable, &Problem{c.Reason, c.Message}
		}
	}
	return Pending, nil
}

// exited returns the problem of a container that has ended though it should not, or of an init container that failed.
func exited(status *corev1.PodStatus) *Problem {
	for _, c := range status.InitContainerStatuses {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return &Problem{t.Reason, termination(c.Name, t)}
		}
	}
	for _, c := range status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			return &Problem{t.Reason, termination(c.Name, t)}
		}
	}
	return nil
}

func termination(container string, t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("container %s ended with exit code %d", container, t.ExitCode)
	if t.Message != "" {
		text += ": " + t.Message
	}
	return text
}

// Progress says in a few words how far a pod is.
func Progress(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return "is being deleted"
	case pod.Spec.NodeName == "":
		return "waits for a node"
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil {
			return fmt.Sprintf("is on node %s, container %s: %s", pod.Spec.NodeName, c.Name, w.Reason)
		}
	}
	if pod.Status.PodIP == "" {
		return "is on node " + pod.Spec.NodeName + " and has no address yet"
	}
	return "runs on node " + pod.Spec.NodeName + " and its wrapper server does not answer yet"
}

// Ready tells whether the kubelet holds the pod for ready. It falls behind what the pod answers.
func Ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
