// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podpatch merges an operator's settings of function pods into the pod template, for all functions or for some. The settings are
// fields of a pod: scheduling, isolation, labels and annotations.
package podpatch

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Patch is a strategic merge patch of a pod. It is immutable.
type Patch struct{ content json.RawMessage }

// MarshalJSON returns the patch. Equal patches have equal JSON.
func (p Patch) MarshalJSON() ([]byte, error) { return p.content, nil }

// Apply returns a pod with the patches applied in order.
func Apply(pod *corev1.Pod, patches ...Patch) (*corev1.Pod, error) {
	if len(patches) == 0 {
		return pod, nil
	}
	content, err := json.Marshal(pod)
	for _, p := range patches {
		if err == nil {
			content, err = strategicpatch.StrategicMergePatch(content, p.content, corev1.Pod{})
		}
	}
	patched := &corev1.Pod{}
	if err == nil {
		err = json.Unmarshal(content, patched)
	}
	if err != nil {
		return nil, fmt.Errorf("merge into the pod: %w", err)
	}
	return patched, nil
}

// Dropped returns the name of an isolation field that the API server or admission has dropped from a pod, with advice, or an empty string
// if there is none. API servers drop unknown fields silently.
func Dropped(want, got *corev1.Pod) string {
	wanted, has := &want.Spec, &got.Spec
	a, b := securityOf(wanted), securityOf(has)
	switch {
	case wanted.HostUsers != nil && has.HostUsers == nil:
		return "spec.hostUsers: the cluster needs user namespaces (feature gate UserNamespacesSupport, on by default since Kubernetes 1.33)"
	case wanted.RuntimeClassName != nil && has.RuntimeClassName == nil:
		return "spec.runtimeClassName: look for an admission webhook that removes it"
	case a.SeccompProfile != nil && b.SeccompProfile == nil:
		return "spec.securityContext.seccompProfile: look for an admission webhook that removes it"
	case a.AppArmorProfile != nil && b.AppArmorProfile == nil:
		return "spec.securityContext.appArmorProfile: the cluster needs Kubernetes 1.30 or later"
	}
	return ""
}

func securityOf(spec *corev1.PodSpec) corev1.PodSecurityContext {
	if spec.SecurityContext == nil {
		return corev1.PodSecurityContext{}
	}
	return *spec.SecurityContext
}
