// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestServiceMonitors(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		for _, o := range r.of("ServiceMonitor") {
			spec := as[monitoringv1.ServiceMonitor](t, o).Spec
			matcher, err := metav1.LabelSelectorAsSelector(&spec.Selector)
			if err != nil {
				t.Fatal(err)
			}
			services := slices.DeleteFunc(r.of("Service"), func(s *object) bool { return !matcher.Matches(labels.Set(s.GetLabels())) })
			if len(services) != 1 {
				t.Fatalf("%s selects %v, want one Service", o, services)
			}
			service := as[corev1.Service](t, services[0]).Spec
			for _, endpoint := range spec.Endpoints {
				if !slices.ContainsFunc(service.Ports, func(p corev1.ServicePort) bool { return p.Name == endpoint.Port }) {
					t.Errorf("%s asks port %s, which %s does not have", o, endpoint.Port, services[0])
				}
			}
			for _, w := range selected(t, r, &metav1.LabelSelector{MatchLabels: service.Selector}) {
				for _, label := range spec.PodTargetLabels {
					if w.labels[label] == "" {
						t.Errorf("%s copies the label %s, which pods of %s do not have", o, label, w)
					}
				}
			}
		}
	})
}

// monitored is what the chart has for Prometheus and Grafana when all of it is on.
func monitored(t *testing.T) *rendering {
	t.Helper()
	return renderOnce(t, parseValues(t, switches["monitoring"]))
}

func alerts(t *testing.T) []monitoringv1.Rule {
	t.Helper()
	var all []monitoringv1.Rule
	for _, o := range monitored(t).of("PrometheusRule") {
		for _, group := range as[monitoringv1.PrometheusRule](t, o).Spec.Groups {
			all = append(all, group.Rules...)
		}
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

func TestAlertsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(inCheckout(t, "docs", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	var fired, described []string
	for _, alert := range alerts(t) {
		fired = append(fired, alert.Alert)
		if alert.Labels["severity"] == "" || alert.Annotations["summary"] == "" || alert.Annotations["description"] == "" || alert.For == nil {
			t.Errorf("alert %s lacks a severity, a summary, a description, or a time that it waits", alert.Alert)
		}
	}
	for line := range strings.Lines(string(page)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "### Krmfn"); ok {
			described = append(described, "Krmfn"+name)
		}
	}
	if diff := cmp.Diff(fired, described); diff != "" {
		t.Errorf("headings of docs/operate.md (-alerts +headings):\n%s", diff)
	}
}
