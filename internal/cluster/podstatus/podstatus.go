// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podstatus derives from a pod's status how far its start is and why it does not become ready, in the words of the
// scheduler and the kubelet.
package podstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// State is the outlook of a pod that is not ready.
type State int

const (
	// Pending means that nothing in the status prevents the pod from becoming ready.
	Pending State = iota
	// Unschedulable means that no node fits, but an autoscaler may add one.
	Unschedulable
	// Restarting means that a container has exited and is being restarted. If it has never run successfully, it will probably fail
	// again.
	Restarting
	// Failed means that the pod will not become ready and may be deleted.
	Failed
)

// Problem says why a pod does not become ready.
type Problem struct {
	// Reason is Kubernetes' reason, such as ErrImagePull.
	Reason string
	// Message is Kubernetes' message. It may be long and have several lines.
	Message string
}

// maxMessage is the maximum length of the error text in bytes. A message for Unschedulable has a clause for each kind of node.
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

// PullFailed reports whether the node has tried to pull an image and failed. The kubelet retries; between attempts, the reason
// is ImagePullBackOff.
func (p *Problem) PullFailed() bool {
	return slices.Contains([]string{"ErrImagePull", "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed"}, p.Reason)
}

// lasting lists the reasons of waiting containers that usually do not go away soon.
var lasting = []string{
	"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable",
	"SignatureValidationFailed",
	"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError", "PreStartHookError", "PostStartHookError",
	"CrashLoopBackOff",
}

// throttled is part of the kubelet's message for a pull that is delayed by its rate limit. The pull will start soon.
const throttled = "pull QPS exceeded"

// Of returns the state of a pod and, unless the state is Pending, the reason.
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
		// For a crash loop, the last termination has the reason.
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

// exited returns the problem of a container that has exited or of an init container that has failed.
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

// Progress describes how far the start of a pod is.
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

// Ready reports whether the kubelet considers the pod ready. It may lag behind the pod's own health.
func Ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
