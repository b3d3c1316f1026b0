// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sweep_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
)

const (
	image  = "r.io/fn:v1"
	grace  = 5 * time.Minute
	podTTL = 30 * time.Minute
	tick   = time.Second
)

var (
	now   = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	rules = sweep.Rules{Grace: grace, PodTTL: podTTL, WarmerTTL: time.Hour}
)

// ago returns the time d before now.
func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// timestamp formats the time d before now, as in annotations.
func timestamp(d time.Duration) string { return ago(d).UTC().Format(time.RFC3339) }

type podOption func(*corev1.Pod)

// functionPod returns a pod of the pool "p" that was created three days ago and last used a minute ago.
func functionPod(name string, options ...podOption) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", CreationTimestamp: ago(72 * time.Hour),
			Labels: map[string]string{functionpod.ImageLabel: name, functionpod.PoolLabel: "p", functionpod.OrdinalLabel: "1"},
			Annotations: map[string]string{
				functionpod.ReferenceAnnotation: image, functionpod.TemplateAnnotation: "t1",
				functionpod.LastUseAnnotation: timestamp(time.Minute), functionpod.TTLAnnotation: "40m",
			},
		},
		Spec:   corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Image: "r.io/fn@sha256:0"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, option := range options {
		option(pod)
	}
	return pod
}

// warmerPod returns a pod of the image warmer with the name "a".
func warmerPod(options ...podOption) *corev1.Pod {
	return functionPod("a", append([]podOption{labels(map[string]string{functionpod.WarmerLabel: "run"}), annotations(nil)}, options...)...)
}

func labels(l map[string]string) podOption { return func(p *corev1.Pod) { p.Labels = l } }

func annotations(a map[string]string) podOption { return func(p *corev1.Pod) { p.Annotations = a } }

func unlabelled(key string) podOption { return func(p *corev1.Pod) { delete(p.Labels, key) } }

func annotation(key, value string) podOption {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

func unannotated(key string) podOption { return func(p *corev1.Pod) { delete(p.Annotations, key) } }

func created(d time.Duration) podOption {
	return func(p *corev1.Pod) { p.CreationTimestamp = ago(d) }
}

func used(d time.Duration) podOption { return annotation(functionpod.LastUseAnnotation, timestamp(d)) }

func ttl(text string) podOption { return annotation(functionpod.TTLAnnotation, text) }

func of(pool, template string) podOption {
	return func(p *corev1.Pod) {
		p.Labels[functionpod.PoolLabel], p.Annotations[functionpod.TemplateAnnotation] = pool, template
	}
}

func unready(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func phase(phase corev1.PodPhase) podOption {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

// ended adds terminated containers of each type, the last of which ended d ago.
func ended(d time.Duration) podOption {
	at := func(d time.Duration) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: ago(d)}}}}
	}
	return func(p *corev1.Pod) {
		p.Status.InitContainerStatuses, p.Status.EphemeralContainerStatuses = at(d+time.Minute), at(d+2*time.Minute)
		p.Status.ContainerStatuses = at(d)
	}
}

// terminating marks the pod as deleted. Its termination grace period ended d ago.
func terminating(d time.Duration) podOption {
	return func(p *corev1.Pod) { p.DeletionTimestamp = new(ago(d)) }
}

func pulling(secret string) podOption {
	return func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: secret}} }
}

// service returns the Service of a function pod that was created three days ago, with pods as owners.
func service(name string, owners ...string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: functionPod(name).ObjectMeta}
	s.Annotations = nil
	for _, owner := range owners {
		s.OwnerReferences = append(s.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "owner", UID: types.UID(owner)})
	}
	return s
}

func serviceWith(s *corev1.Service, change func(*corev1.Service)) *corev1.Service {
	change(s)
	return s
}

// secret returns a pull secret that was created three days ago and last renewed a given time ago.
func secret(renewed time.Duration, changes ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	s := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "auth-secret", CreationTimestamp: ago(72 * time.Hour),
		Labels:      map[string]string{functionpod.PullSecretLabel: functionpod.Keeper},
		Annotations: map[string]string{functionpod.LastUseAnnotation: timestamp(renewed)},
	}}
	for _, change := range changes {
		change(s)
	}
	return s
}
