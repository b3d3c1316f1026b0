// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

// slimmer drops the unused fields of pods, which are about 95% of their size. Pods take most of the memory of an idle pool.
type slimmer struct {
	mu sync.Mutex
	// spec is the slim specification of the latest pod. Most pods share its parts, which are immutable.
	spec corev1.PodSpec
}

// slim is a cache.TransformFunc.
func (s *slimmer) slim(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
			Labels: only(pod.Labels, functionpod.ImageLabel, functionpod.PoolLabel, functionpod.OrdinalLabel),
			Annotations: only(pod.Annotations, functionpod.TemplateAnnotation, functionpod.ReferenceAnnotation, functionpod.DigestAnnotation,
				functionpod.LastUseAnnotation, functionpod.TTLAnnotation, functionpod.AuthoritiesAnnotation),
		},
		Spec: s.slimSpec(&pod.Spec),
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message, PodIP: pod.Status.PodIP,
			InitContainerStatuses: troubled(pod.Status.InitContainerStatuses, true), ContainerStatuses: troubled(pod.Status.ContainerStatuses, false),
			Conditions: telling(pod.Status.Conditions),
		},
	}, nil
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

func (s *slimmer) slimSpec(spec *corev1.PodSpec) corev1.PodSpec {
	kept := corev1.PodSpec{
		InitContainers: named(spec.InitContainers), Containers: named(spec.Containers), ImagePullSecrets: spec.ImagePullSecrets,
	}
	for _, v := range spec.Volumes {
		if v.Image != nil {
			kept.Volumes = append(kept.Volumes, v)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !equality.Semantic.DeepEqual(kept, s.spec) {
		s.spec = kept
	}
	kept = s.spec
	kept.NodeName = spec.NodeName
	return kept
}

// named keeps the names and the resource requests of containers.
func named(containers []corev1.Container) []corev1.Container {
	kept := make([]corev1.Container, len(containers))
	for i, c := range containers {
		kept[i] = corev1.Container{Name: c.Name, Resources: corev1.ResourceRequirements{Requests: c.Resources.Requests}}
	}
	return kept
}

// troubled keeps the statuses of containers that wait or have ended, except those of containers that were supposed to end (toEnd) and
// ended with exit code 0. Running containers need no status.
func troubled(statuses []corev1.ContainerStatus, toEnd bool) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, c := range statuses {
		ended := c.State.Terminated
		if c.State.Waiting != nil || ended != nil && (ended.ExitCode != 0 || !toEnd) {
			kept = append(kept, corev1.ContainerStatus{Name: c.Name, State: c.State, LastTerminationState: c.LastTerminationState})
		}
	}
	return kept
}

// telling keeps the Ready condition, and the PodScheduled condition unless it is true.
func telling(conditions []corev1.PodCondition) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for _, c := range conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			kept = append(kept, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
	}
	return kept
}
