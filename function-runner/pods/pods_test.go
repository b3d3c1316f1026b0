// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/server/telemetry"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/reference"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newConfig(t *testing.T, environ ...string) Config {
	t.Helper()
	o := options.Default()
	o.Pod.CacheConfig = filepath.Join(t.TempDir(), "settings.yaml")
	return Config{
		Options: o, Environ: environ, Log: slog.New(slog.DiscardHandler),
		Telemetry: &telemetry.Telemetry{Metrics: metricnoop.NewMeterProvider(), Traces: tracenoop.NewTracerProvider()},
	}
}

func TestRefusedConfigurations(t *testing.T) {
	t.Parallel()
	c := newConfig(t)
	if _, err := New(t.Context(), c); err == nil || !strings.Contains(err.Error(), wrapperImageVariable) {
		t.Errorf("New() without the wrapper server's image = %v, want an error that names the variable", err)
	}
	c = newConfig(t, wrapperImageVariable+"=wrapper")
	c.Options.Pod.Kubeconfig = "/does/not/exist"
	if _, err := New(t.Context(), c); err == nil || !strings.Contains(err.Error(), "--kubeconfig") || !strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("New() without a cluster = %v, want an error that names the kubeconfig", err)
	}
}

// cluster serves an API without pods, and returns a kubeconfig for it.
func cluster(t *testing.T) (kubeconfig string) {
	t.Helper()
	return serve(t, func(*http.Request) string { return "" })
}

// New fails if the ConfigMap with the template does not exist.
func TestNoTemplate(t *testing.T) {
	t.Parallel()
	c := newConfig(t, wrapperImageVariable+"=wrapper")
	c.Options.Pod.Kubeconfig, c.Options.Pod.Template = cluster(t), "template"
	if _, err := New(t.Context(), c); err == nil || !strings.Contains(err.Error(), "ConfigMap template") {
		t.Errorf("New() = %v, want an error that names the ConfigMap", err)
	}
}

// Run reports when calls can be evaluated, and ends with its context.
func TestRun(t *testing.T) {
	t.Parallel()
	c := newConfig(t, wrapperImageVariable+"=wrapper")
	c.Options.Pod.Kubeconfig = cluster(t)
	p, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	early, stop := context.WithCancel(ctx)
	stop()
	if _, err := p.Evaluate(early, evaluation.Request{Image: "fn"}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "API server") {
		t.Errorf("Evaluate() before Run = %v, want Canceled while waiting for the API server", err)
	}
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- p.Run(ctx, func() { close(ready) }) }()
	select {
	case <-ready:
	case <-ctx.Done():
		t.Fatal("Run() did not call ready")
	}
	if n := len(p.List()); n > 0 {
		t.Errorf("listed functions = %d, want 0", n)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// objects holds settings by repository.
type objects map[string]functionconfig.Settings

func (o objects) Pods(ref string) functionconfig.Settings {
	repository, _, _ := reference.Split(ref)
	return o[repository]
}

func (objects) Recheck() {}

func (objects) Tried() <-chan struct{} { return nil }

// A function's settings override the flags.
func TestLimits(t *testing.T) {
	t.Parallel()
	c := newConfig(t)
	text := "- name: r.io/own\n  timeToLive: 5m\n  maxWaitlistLength: 7\n  maxParallelPodsPerFunction: 4\n  minWarmPods: 2\n- name: r.io/warm\n  minWarmPods: 3\n"
	if err := os.WriteFile(c.Options.Pod.CacheConfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &Pods{config: c, settings: newSettingsFile(c.Options.Pod.CacheConfig, c.Options.Reference, c.Log)}
	_, _ = p.settings.Load()
	// The settings of a FunctionConfig object override the flags. The settings of the exact reference override both, field by field.
	overrides := &functionconfig.Overrides{ServiceAccountName: "sa"}
	p.configs = objects{"r.io/own": {TTL: time.Minute, MaxPods: 9, Waitlist: 9, Overrides: overrides}, "r.io/object": {MaxPods: 5, Overrides: overrides}}
	flags := pool.Config{MaxPods: 1, Waitlist: 2, PerPod: 8, MaxWaiting: 1000, TTL: 30 * time.Minute}
	own, warm := flags, flags
	own.MaxPods, own.MinPods, own.Waitlist, own.TTL = 4, 2, 7, 5*time.Minute
	// A minimum above the flag's maximum raises the maximum.
	warm.MaxPods, warm.MinPods = 3, 3
	object := flags
	object.MaxPods = 5
	ownByTag := flags
	ownByTag.TTL, ownByTag.MaxPods, ownByTag.Waitlist = time.Minute, 9, 9
	for ref, want := range map[string]podmanager.Limits{
		"r.io/own": {Config: own, Overrides: overrides}, "r.io/own:v1": {Config: ownByTag, Overrides: overrides},
		"r.io/warm": {Config: warm}, "r.io/other": {Config: flags},
		"r.io/object:v1": {Config: object, Overrides: overrides}, "other.io/object:v1": {Config: flags},
	} {
		if diff := cmp.Diff(want, p.limits(ref)); diff != "" {
			t.Errorf("limits(%s) (-want +got):\n%s", ref, diff)
		}
	}
	if wrapperConcurrency(8) != 0 || wrapperConcurrency(9) != 9 {
		t.Error("wrapperConcurrency(8), wrapperConcurrency(9) are not 0, 9")
	}
}

// Wrapper servers get the variables for trace exports, but no credentials.
func TestTraced(t *testing.T) {
	t.Parallel()
	env := traced([]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_HEADERS=authorization=secret", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", "HOME=/"})
	want := []corev1.EnvVar{{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Value: "http://c:4318"}, {Name: "OTEL_TRACES_EXPORTER", Value: "otlp"}}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("traced() (-want +got):\n%s", diff)
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
		t.Errorf("environment of the template (-want +got):\n%s", diff)
	}
}
