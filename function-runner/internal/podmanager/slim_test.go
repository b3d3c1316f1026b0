// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/podstatus"
)

// said holds everything that the manager reads from a pod's specification and status.
type said struct {
	State           podstatus.State
	Problem         *podstatus.Problem
	Progress        string
	Ready           bool
	Meshed, Volume  bool
	Requests        corev1.ResourceList
	Node, IP, Phase string
}

func saidBy(pod *corev1.Pod) said {
	state, problem := podstatus.Of(pod)
	return said{
		state, problem, podstatus.Progress(pod), podstatus.Ready(pod), meshed(pod), podtemplate.HasImageVolume(pod), requests(pod),
		pod.Spec.NodeName, pod.Status.PodIP, string(pod.Status.Phase),
	}
}

// A slim pod yields the same results as the original, whichever pod was processed before.
func TestSlim(t *testing.T) {
	t.Parallel()
	container := func(name, cpu string) corev1.Container {
		return corev1.Container{Name: name, Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}
	}
	state := func(name string, code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"}}}
	}
	waits := corev1.ContainerStatus{Name: "function", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, LastTerminationState: state("", 2).State}
	runs := corev1.ContainerStatus{Name: "function", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: state("", 137).State}
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, Reason: corev1.PodReasonUnschedulable, Message: "m"}
	}
	specs := []corev1.PodSpec{
		{NodeName: "a", Containers: []corev1.Container{container("function", "100m")}},
		{NodeName: "b", Containers: []corev1.Container{container("function", "100m")}},
		{Containers: []corev1.Container{container("function", "1"), container("istio-proxy", "2")}},
		{InitContainers: []corev1.Container{container("istio-proxy", "1")}, Containers: []corev1.Container{container("function", "100m")}},
		{Containers: []corev1.Container{container("function", "100m")}, Volumes: []corev1.Volume{{Name: "wrapper-server-tools", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{}}}}},
	}
	statuses := []corev1.PodStatus{
		{},
		{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", InitContainerStatuses: []corev1.ContainerStatus{state("copy", 0)}, ContainerStatuses: []corev1.ContainerStatus{runs},
			Conditions: []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue), condition(corev1.PodScheduled, corev1.ConditionTrue)},
		},
		{Conditions: []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionFalse), condition(corev1.PodScheduled, corev1.ConditionFalse)}},
		{InitContainerStatuses: []corev1.ContainerStatus{state("copy", 1)}},
		{ContainerStatuses: []corev1.ContainerStatus{state("function", 0)}},
		{ContainerStatuses: []corev1.ContainerStatus{waits}},
		{Phase: corev1.PodFailed, Reason: "Evicted", Message: "m"},
	}
	var s slimmer
	for _, spec := range specs {
		for _, status := range statuses {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: spec, Status: status}
			kept, err := s.slim(pod)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(saidBy(pod), saidBy(kept.(*corev1.Pod))); diff != "" {
				t.Errorf("slim() of spec %+v and status %+v (-want +got):\n%s", spec, status, diff)
			}
		}
	}
}
