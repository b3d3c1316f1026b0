// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/injection"
)

// Wrapper servers learn where traces go, and no credentials.
func TestTraced(t *testing.T) {
	t.Parallel()
	env := traced([]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_HEADERS=authorization=secret", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", "HOME=/"})
	want := []corev1.EnvVar{{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Value: "http://c:4318"}, {Name: "OTEL_TRACES_EXPORTER", Value: "otlp"}}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	template, err := podtemplate.Default("wrapper", injection.InitContainer, env...)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, e := range template.Pod.Spec.Containers[0].Env {
		got[e.Name] = append(got[e.Name], e.Value)
	}
	all := map[string][]string{
		"OTEL_METRICS_EXPORTER": {"prometheus"}, "OTEL_EXPORTER_PROMETHEUS_HOST": {"0.0.0.0"},
		"OTEL_TRACES_EXPORTER": {"otlp"}, "OTEL_EXPORTER_OTLP_ENDPOINT": {"http://c:4318"},
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("in the template (-want +got):\n%s", diff)
	}
}
