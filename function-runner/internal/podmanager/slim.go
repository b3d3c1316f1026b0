// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/services/cluster/functionpod"
)

// slim leaves of a pod what is looked at here, which is a tenth of it: pods are most of what an idle pool takes.
func slim(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
			Labels: only(pod.Labels, functionpod.ImageLabel, functionpod.PoolLabel, functionpod.SlotLabel),
			Annotations: only(pod.Annotations, functionpod.TemplateAnnotation, functionpod.ReferenceAnnotation,
				functionpod.LastUseAnnotation, functionpod.TTLAnnotation),
		},
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, InitContainers: named(pod.Spec.InitContainers), Containers: named(pod.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message, PodIP: pod.Status.PodIP,
			InitContainerStatuses: states(pod.Status.InitContainerStatuses), ContainerStatuses: states(pod.Status.ContainerStatuses),
		},
	}
	for _, v := range pod.Spec.Volumes {
		if v.Image != nil {
			kept.Spec.Volumes = append(kept.Spec.Volumes, v)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			kept.Status.Conditions = append(kept.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
	}
	return kept, nil
}

func only(from map[string]string, keys ...string) map[string]string {
	kept := make(map[string]string, len(keys))
	for _, key := range keys {
		if value, ok := from[key]; ok {
			kept[key] = value
		}
	}
	return kept
}

// named keeps of containers what they are called and run.
func named(containers []corev1.Container) []corev1.Container {
	kept := make([]corev1.Container, len(containers))
	for i, c := range containers {
		kept[i] = corev1.Container{Name: c.Name, Image: c.Image}
	}
	return kept
}

// states keeps of containers how they are.
func states(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	kept := make([]corev1.ContainerStatus, len(statuses))
	for i, s := range statuses {
		kept[i] = corev1.ContainerStatus{Name: s.Name, State: s.State, LastTerminationState: s.LastTerminationState}
	}
	return kept
}
