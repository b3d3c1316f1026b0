// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Error is why a node has not pulled.
type Error struct {
	// Reason is the word that Kubernetes has for it, such as ErrImagePull.
	Reason string
	// Message is what Kubernetes has to say of it.
	Message string
}

// maxMessage bounds what goes into errors.
const maxMessage = 1000

func (e *Error) Error() string {
	message := strings.Join(strings.Fields(e.Message), " ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	if message == "" {
		return e.Reason
	}
	return e.Reason + ": " + message
}

// state is what is known of a pod.
type state struct {
	// done says that the pod has ended or will not; err is nil where the image was pulled.
	done bool
	err  error
	// unschedulable is why there is no place for the pod, which may change.
	unschedulable *Error
	// pulling is the latest trouble with a pull, of which there may be another attempt.
	pulling *Error
	// progress says in a few words how far the pod is.
	progress string
}

// Reasons of waiting containers. A pull that fails is tried again by the kubelet, after some seconds in backOff. The hopeless
// ones stay.
var (
	pullFails = []string{"ErrImagePull", "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed"}
	hopeless  = []string{
		"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError",
	}
)

// maxPulls is how often a pull must fail to be given up: what passes by itself mostly does so at once.
const maxPulls = 2

// tracker follows one pod. It must see every change, in order.
type tracker struct {
	failed int
	// reason is that of the latest waiting container.
	reason  string
	pulling *Error
}

// observe returns what is known of the pod now.
func (t *tracker) observe(pod *corev1.Pod) state {
	status := &pod.Status
	switch status.Phase {
	case corev1.PodSucceeded:
		return state{done: true}
	case corev1.PodFailed:
		return state{done: true, err: ended(status)}
	}
	if pod.DeletionTimestamp != nil {
		return state{done: true, err: errDeleted}
	}
	now := state{progress: "waits for the kubelet"}
	if pod.Spec.NodeName == "" {
		now.progress = "waits for a node"
	}
	waiting := waitingContainer(status)
	if waiting != nil {
		now.progress = "waits: " + waiting.Reason
		if slices.Contains(hopeless, waiting.Reason) {
			return state{done: true, err: &Error{waiting.Reason, waiting.Message}}
		}
	}
	t.count(waiting)
	now.pulling = t.pulling
	if t.failed >= maxPulls {
		return state{done: true, err: t.pulling}
	}
	now.unschedulable = unschedulable(status)
	return now
}

// count counts the pulls that have failed. Between two the kubelet backs off, which is another reason.
func (t *tracker) count(waiting *corev1.ContainerStateWaiting) {
	reason := ""
	if waiting != nil {
		reason = waiting.Reason
	}
	if slices.Contains(pullFails, reason) {
		if reason != t.reason {
			t.failed++
		}
		t.pulling = &Error{reason, waiting.Message}
	}
	t.reason = reason
}

// waitingContainer returns why the first container waits that has something to say, or nil.
func waitingContainer(status *corev1.PodStatus) *corev1.ContainerStateWaiting {
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return w
		}
	}
	return nil
}

// ended says why a pod has failed.
func ended(status *corev1.PodStatus) *Error {
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 && status.Reason == "" {
			message := fmt.Sprintf("container %s ended with exit code %d", c.Name, t.ExitCode)
			if t.Message != "" {
				message += ": " + t.Message
			}
			return &Error{t.Reason, message}
		}
	}
	return &Error{cmp.Or(status.Reason, string(corev1.PodFailed)), status.Message}
}

func unschedulable(status *corev1.PodStatus) *Error {
	for _, c := range status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return &Error{c.Reason, c.Message}
		}
	}
	return nil
}

// refusesImageVolume tells whether a pod with an image volume may have failed because its node cannot mount images.
func refusesImageVolume(err *Error) bool {
	switch err.Reason {
	case "CreateContainerError", "RunContainerError", "CreateContainerConfigError", "StartError", "ContainerCannotRun":
		return strings.Contains(err.Message, functionDir) || strings.Contains(err.Message, "mount") || strings.Contains(err.Message, "volume")
	}
	return false
}
