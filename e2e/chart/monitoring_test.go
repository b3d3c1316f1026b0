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
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
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
				t.Fatalf("%s selects Services %v, want one", o, services)
			}
			service := as[corev1.Service](t, services[0]).Spec
			for _, endpoint := range spec.Endpoints {
				if !slices.ContainsFunc(service.Ports, func(p corev1.ServicePort) bool { return p.Name == endpoint.Port }) {
					t.Errorf("%s scrapes port %s, which %s does not have", o, endpoint.Port, services[0])
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

// The PodMonitor scrapes the pods that the built-in template creates, at the port that the NetworkPolicy opens to Prometheus.
func TestPodMonitor(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(inCheckout(t, "function-runner", "internal", "podtemplate", "default.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var template struct{ Pod corev1.Pod }
	if err := yaml.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	r := monitored(t)
	monitor := as[monitoringv1.PodMonitor](t, named(t, r, "PodMonitor "+install.Namespace+"/krmfn-function-pods")).Spec
	if got, want := monitor.NamespaceSelector.MatchNames, []string{install.FunctionNamespace}; !slices.Equal(got, want) {
		t.Errorf("namespaces = %q, want %q", got, want)
	}
	matcher, err := metav1.LabelSelectorAsSelector(&monitor.Selector)
	if err != nil {
		t.Fatal(err)
	}
	if !matcher.Matches(labels.Set{functionpod.PoolLabel: "a"}) || matcher.Matches(labels.Set{"app": "image-warmer"}) {
		t.Errorf("selector = %v, want one that matches only function pods", matcher)
	}
	policy := as[networkingv1.NetworkPolicy](t, named(t, r, "NetworkPolicy "+install.FunctionNamespace+"/krmfn-functions")).Spec
	for _, port := range template.Pod.Spec.Containers[0].Ports {
		scraped := slices.ContainsFunc(monitor.PodMetricsEndpoints, func(e monitoringv1.PodMetricsEndpoint) bool { return e.Port != nil && *e.Port == port.Name })
		open := slices.ContainsFunc(policy.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
			return slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.IntVal == port.ContainerPort })
		})
		if scraped && open {
			return
		}
	}
	t.Error("no port of function pods is scraped and open")
}

// monitored renders the chart with all features for Prometheus and Grafana enabled.
func monitored(t *testing.T) *rendering {
	t.Helper()
	return monitoredWith(t, `imageWarmer: {enabled: true, images: [a/b:v1], interval: 30m, timeout: 10m}`)
}

// monitoredWith renders the chart with the monitoring switch and other values.
func monitoredWith(t *testing.T, values string) *rendering {
	t.Helper()
	return renderOnce(t, install.MergeValues(parseValues(t, switches["monitoring"]), parseValues(t, values)))
}

func alerts(t *testing.T) []monitoringv1.Rule {
	t.Helper()
	return alertsOf(t, monitored(t))
}

func alertsOf(t *testing.T, r *rendering) []monitoringv1.Rule {
	t.Helper()
	var all []monitoringv1.Rule
	for _, o := range r.of("PrometheusRule") {
		for _, group := range as[monitoringv1.PrometheusRule](t, o).Spec.Groups {
			all = append(all, group.Rules...)
		}
	}
	if len(all) == 0 {
		t.Fatal("the rendering has no alerts")
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
			t.Errorf("alert %s lacks a severity, a summary, a description or a for duration", alert.Alert)
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

// The chart creates alerts only for components that are installed and have work.
func TestAlertsOnParts(t *testing.T) {
	t.Parallel()
	const warmer, lookups, janitor = "KrmfnImageWarmerFails", "KrmfnImageWarmerLookupsFail", "KrmfnPodJanitorFails"
	for values, want := range map[string][]string{
		`{}`:                           {janitor},
		`podJanitor: {enabled: false}`: nil,
		`imageWarmer: {enabled: true}`: {janitor}, // The image warmer has no images to warm.
		`imageWarmer: {enabled: true, images: [a/b:v1]}`: {warmer, lookups, janitor},
	} {
		var got []string
		for _, alert := range alertsOf(t, monitoredWith(t, values)) {
			if slices.Contains([]string{warmer, lookups, janitor}, alert.Alert) {
				got = append(got, alert.Alert)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("alerts with %s (-want +got):\n%s", values, diff)
		}
	}
}
