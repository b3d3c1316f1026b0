// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func waits(reason string) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "why"}},
	}}}}
}

func waitsAtFirst(reason string) *corev1.Pod {
	pod := waits("PodInitializing")
	pod.Status.InitContainerStatuses = waits(reason).Status.ContainerStatuses
	return pod
}

func fails(reason string, code int32) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		Name: container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}},
	}}}}
}

func TestTracker(t *testing.T) {
	t.Parallel()
	evicted := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "no disk"}}
	const failed = "ErrImagePull"
	for _, tc := range []struct {
		name string
		seen []*corev1.Pod
		// want is the final error, "" for success, or "-" for no final state.
		want string
	}{
		{"it waits", []*corev1.Pod{{}, waits("ContainerCreating")}, "-"},
		{"success", []*corev1.Pod{waits("ContainerCreating"), {Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}}, ""},
		{"success after a failed pull", []*corev1.Pod{waits(failed), waits(backOff), {Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}}, ""},
		{"a pull fails once", []*corev1.Pod{waits(failed), waits(failed), waits(backOff), waits(backOff)}, "-"},
		{"a pull fails twice", []*corev1.Pod{waits(failed), waits(backOff), waits(failed)}, "ErrImagePull: why"},
		{"the pull of the wrapper server fails", []*corev1.Pod{waitsAtFirst(failed), waitsAtFirst(backOff), waitsAtFirst(failed)}, "ErrImagePull: why"},
		{"no name", []*corev1.Pod{waits("InvalidImageName")}, "InvalidImageName: why"},
		{"no config", []*corev1.Pod{waits("CreateContainerConfigError")}, "CreateContainerConfigError: why"},
		{"out of memory", []*corev1.Pod{fails("OOMKilled", 137)}, "OOMKilled: container pull ended with exit code 137"},
		{"evicted", []*corev1.Pod{evicted}, "Evicted: no disk"},
		{"no words", []*corev1.Pod{{Status: corev1.PodStatus{Phase: corev1.PodFailed}}}, "Failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var follow tracker
			var now state
			for i, pod := range tc.seen {
				if now = follow.observe(pod); now.done && i < len(tc.seen)-1 {
					t.Fatalf("final state after %d of %d changes: %v", i+1, len(tc.seen), now.err)
				}
			}
			switch {
			case now.done != (tc.want != "-"):
				t.Errorf("done = %v with error %v, want %q", now.done, now.err, tc.want)
			case now.err == nil && now.done && tc.want != "", now.err != nil && now.err.Error() != tc.want:
				t.Errorf("error = %v, want %q", now.err, tc.want)
			}
		})
	}
}
