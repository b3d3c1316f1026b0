// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podpatch

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// fields are the fields of a pod that settings may set. They exclude the fields that a function pod needs to work, and the fields that
// would give it more rights. At worst, they keep pods from starting.
type fields struct {
	Metadata struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		RuntimeClassName          *string                           `json:"runtimeClassName"`
		HostUsers                 *bool                             `json:"hostUsers"`
		SecurityContext           *securityContext                  `json:"securityContext"`
		NodeSelector              map[string]string                 `json:"nodeSelector"`
		Tolerations               []corev1.Toleration               `json:"tolerations"`
		Affinity                  *corev1.Affinity                  `json:"affinity"`
		TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints"`
		PriorityClassName         *string                           `json:"priorityClassName"`
		SchedulerName             *string                           `json:"schedulerName"`
	} `json:"spec"`
}

type securityContext struct {
	SeccompProfile  *corev1.SeccompProfile  `json:"seccompProfile"`
	AppArmorProfile *corev1.AppArmorProfile `json:"appArmorProfile"`
}

// check validates values that the API server would reject at each creation of a pod, or that would weaken the isolation. The API server
// validates the rest.
func (f *fields) check() error {
	s := &f.Spec
	problems := []error{
		labels("metadata.labels", f.Metadata.Labels, true), annotations(f.Metadata.Annotations), labels("spec.nodeSelector", s.NodeSelector, false),
		name("spec.runtimeClassName", s.RuntimeClassName), name("spec.priorityClassName", s.PriorityClassName), name("spec.schedulerName", s.SchedulerName),
	}
	for i, t := range s.Tolerations {
		if err := toleration(&t); err != nil {
			problems = append(problems, fmt.Errorf("spec.tolerations[%d]: %w", i, err))
		}
	}
	if c := s.SecurityContext; c != nil {
		if p := c.SeccompProfile; p != nil {
			problems = append(problems, profile("seccompProfile", string(p.Type), p.LocalhostProfile, true))
		}
		if p := c.AppArmorProfile; p != nil {
			problems = append(problems, profile("appArmorProfile", string(p.Type), p.LocalhostProfile, false))
		}
	}
	// One problem is enough, because errors have one line.
	for _, err := range problems {
		if err != nil {
			return err
		}
	}
	return nil
}

func name(field string, value *string) error {
	if value == nil {
		return nil
	}
	if len(validation.IsDNS1123Subdomain(*value)) > 0 {
		return fmt.Errorf("%s is %q, want a name, or null for none", field, *value)
	}
	return nil
}

// ours are the domains of the labels and annotations with which krmfn identifies pods.
var ours = []string{"krmfn.dev", "fn.kpt.dev"}

func key(field, key string, own bool) error {
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return fmt.Errorf("%s has the key %q: %s", field, key, problems[0])
	}
	domain, _, _ := strings.Cut(key, "/")
	if own && slices.ContainsFunc(ours, func(d string) bool { return domain == d || strings.HasSuffix(domain, "."+d) }) {
		return fmt.Errorf("%s has the key %q: keys of %s are the function runner's", field, key, domain)
	}
	return nil
}

func labels(field string, values map[string]string, own bool) error {
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if err := key(field, k, own); err != nil {
			return err
		}
		if problems := validation.IsValidLabelValue(values[k]); len(problems) > 0 {
			return fmt.Errorf("%s: value %q of %s: %s", field, values[k], k, problems[0])
		}
	}
	return nil
}

func annotations(values map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if err := key("metadata.annotations", strings.ToLower(k), true); err != nil {
			return err
		}
	}
	return nil
}

func toleration(t *corev1.Toleration) error {
	effects := []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	switch {
	case t.Key == "" && t.Operator != corev1.TolerationOpExists:
		return errors.New("it has no key: name the taint, or set operator to Exists to tolerate all")
	case t.Operator == corev1.TolerationOpExists && t.Value != "":
		return errors.New("it has a value, which the operator Exists does not look at")
	case !slices.Contains(effects, t.Effect):
		return fmt.Errorf("effect is %q, want NoSchedule, PreferNoSchedule or NoExecute", t.Effect)
	}
	return nil
}

// profile checks a seccomp or AppArmor profile, whose types have the same values. isFile reports that local is the path of a file below
// the kubelet's seccomp directory.
func profile(field, kind string, local *string, isFile bool) error {
	field = "spec.securityContext." + field
	switch {
	case kind == string(corev1.SeccompProfileTypeUnconfined):
		return fmt.Errorf("%s.type is Unconfined, which weakens the isolation: use a pod template of your own for it", field)
	case kind != string(corev1.SeccompProfileTypeRuntimeDefault) && kind != string(corev1.SeccompProfileTypeLocalhost):
		return fmt.Errorf("%s.type is %q, want RuntimeDefault or Localhost", field, kind)
	case (kind == string(corev1.SeccompProfileTypeLocalhost)) != (local != nil && *local != ""):
		return fmt.Errorf("%s.localhostProfile must be set if the type is Localhost, and only then", field)
	case isFile && local != nil && (path.IsAbs(*local) || slices.Contains(strings.Split(*local, "/"), "..")):
		return fmt.Errorf("%s.localhostProfile is %q, want a path below the kubelet's seccomp directory", field, *local)
	}
	return nil
}
