// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	labels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// selected returns the workloads whose pods match a selector.
func selected(t *testing.T, r *rendering, selector *metav1.LabelSelector) []*workload {
	t.Helper()
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(workloads(t, r), func(w *workload) bool { return !matcher.Matches(labels.Set(w.labels)) })
}

// only checks that a selector matches the pods of exactly one workload, named want.
func only(t *testing.T, r *rendering, whose *object, selector *metav1.LabelSelector, want string) {
	t.Helper()
	if found := selected(t, r, selector); len(found) != 1 || found[0].GetName() != want {
		t.Errorf("%s selects pods of %v, want only pods of %s", whose, found, want)
	}
}

func TestWorkloadsSelectTheirOwnPods(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		for _, w := range workloads(t, r) {
			for _, spread := range w.spec.TopologySpreadConstraints {
				only(t, r, w.object, spread.LabelSelector, w.GetName())
			}
			if w.selector == nil {
				continue
			}
			only(t, r, w.object, w.selector, w.GetName())
			// A selector is immutable, so a label that changes between releases would make upgrades fail.
			if len(w.selector.MatchLabels) != 1 || w.selector.MatchLabels["app"] == "" {
				t.Errorf("%s: selector = %v, want only the label app", w, w.selector)
			}
		}
	})
}

func TestServicesHavePodsAndPorts(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		for _, o := range r.of("Service") {
			spec := as[corev1.Service](t, o).Spec
			pods := selected(t, r, &metav1.LabelSelector{MatchLabels: spec.Selector})
			if len(pods) == 0 {
				t.Errorf("%s: selector %v selects no pods", o, spec.Selector)
			}
			for _, w := range pods {
				for _, port := range spec.Ports {
					if number := w.port(port.TargetPort); number != port.Port {
						t.Errorf("%s: port %d targets port %s of %s, which is %d", o, port.Port, port.TargetPort.String(), w, number)
					}
				}
			}
		}
	})
}

// port returns the number of a container port; 0 if no container port matches.
func (w *workload) port(target intstr.IntOrString) int32 {
	for _, c := range w.spec.Containers {
		for _, p := range c.Ports {
			if target.Type == intstr.String && p.Name == target.StrVal || target.Type == intstr.Int && p.ContainerPort == target.IntVal {
				return p.ContainerPort
			}
		}
	}
	return 0
}

func TestBudgetsAndScaling(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		budgets := map[string]bool{}
		for _, o := range r.of("PodDisruptionBudget") {
			only(t, r, o, as[policyv1.PodDisruptionBudget](t, o).Spec.Selector, o.GetName())
			budgets[o.GetName()] = true
		}
		least := map[string]int32{}
		for _, o := range r.of("HorizontalPodAutoscaler") {
			spec := as[autoscalingv2.HorizontalPodAutoscaler](t, o).Spec
			least[spec.ScaleTargetRef.Name] = *spec.MinReplicas
		}
		for _, o := range r.of("Deployment") {
			fixed := as[appsv1.Deployment](t, o).Spec.Replicas
			replicas, scaled := least[o.GetName()]
			if fixed == nil && r.values["keepPorchObjects"] == true {
				continue // It keeps its number of replicas.
			}
			if (fixed != nil) == scaled {
				t.Errorf("%s: has replicas = %t, has an autoscaler = %t, want exactly one", o, fixed != nil, scaled)
			}
			if fixed != nil {
				replicas = *fixed
			}
			// A budget for a single replica would block the drain of its node.
			wanted := replicas > 1 && r.values["podDisruptionBudget"].(map[string]any)["enabled"] == true
			if budgets[o.GetName()] != wanted {
				t.Errorf("%s with %d replicas: has a budget = %t, want %t", o, replicas, budgets[o.GetName()], wanted)
			}
			delete(least, o.GetName())
		}
		if len(least) > 0 {
			t.Errorf("autoscalers target Deployments that do not exist: %v", least)
		}
	})
}
