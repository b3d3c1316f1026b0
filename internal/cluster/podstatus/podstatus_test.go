// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podstatus_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/internal/cluster/podstatus"
)

func waiting(name, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func ended(code int32, reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
}

func TestOf(t *testing.T) {
	t.Parallel()
	crash := waiting("function", "CrashLoopBackOff", "back-off 10s")
	crash.LastTerminationState = ended(2, "Error", "flag provided but not defined")
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		state  podstatus.State
		want   string
	}{
		"new":      {},
		"creating": {status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("function", "ContainerCreating", "")}}},
		"running":  {status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"}},
		"running again": {status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "function", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: ended(137, "OOMKilled", "")},
		}}},
		"initialising": {status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{
			{Name: "copy", State: ended(0, "Completed", "")},
		}}},
		"no image": {
			status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("function", "ErrImagePull", "manifest\nunknown")}},
			state:  podstatus.Failed, want: "ErrImagePull: manifest unknown",
		},
		"the kubelet limits its pulls": {
			status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("function", "ErrImagePull", "pull QPS exceeded")}},
		},
		"wrapper's image": {
			status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{waiting("copy", "ImagePullBackOff", "x")}},
			state:  podstatus.Failed, want: "ImagePullBackOff: x",
		},
		"crash loop": {
			status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{crash}},
			state:  podstatus.Failed, want: "CrashLoopBackOff: container function ended with exit code 2: flag provided but not defined",
		},
		"exits": {
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				{Name: "function", State: ended(1, "Error", "")},
			}},
			state: podstatus.Restarting, want: "Error: container function ended with exit code 1",
		},
		"the copier fails": {
			status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{
				{Name: "copy", State: ended(1, "Error", "no space")},
			}},
			state: podstatus.Restarting, want: "Error: container copy ended with exit code 1: no space",
		},
		"evicted": {
			status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource"},
			state:  podstatus.Failed, want: "Evicted: The node was low on resource",
		},
		"succeeded": {
			status: corev1.PodStatus{Phase: corev1.PodSucceeded},
			state:  podstatus.Failed, want: "Succeeded",
		},
		"unschedulable": {
			status: corev1.PodStatus{Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available"},
			}},
			state: podstatus.Unschedulable, want: "Unschedulable: 0/2 nodes are available",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state, problem := podstatus.Of(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: tc.status})
			text := ""
			if problem != nil {
				text = problem.Error()
			}
			if state != tc.state || text != tc.want {
				t.Errorf("Of() = %v, %q, want %v, %q", state, text, tc.state, tc.want)
			}
		})
	}
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	problem := &podstatus.Problem{Reason: "Unschedulable", Message: strings.Repeat("ä", 5000)}
	if n := len(problem.Error()); n > 1100 {
		t.Errorf("length of the message = %d bytes", n)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	onNode := corev1.PodSpec{NodeName: "n"}
	for want, pod := range map[string]corev1.Pod{
		"waits for a node": {},
		"is being deleted": {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}}},
		"is on node n, container function: ContainerCreating": {
			Spec: onNode, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("function", "ContainerCreating", "")}},
		},
		"is on node n and has no address yet":                       {Spec: onNode},
		"runs on node n and its wrapper server does not answer yet": {Spec: onNode, Status: corev1.PodStatus{PodIP: "10.0.0.1"}},
	} {
		if got := podstatus.Progress(&pod); got != want {
			t.Errorf("Progress() = %q, want %q", got, want)
		}
	}
}
