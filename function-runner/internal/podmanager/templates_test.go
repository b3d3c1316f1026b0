// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

// The injection method of the wrapper server depends on the configuration and on the version of the cluster.
func TestInjection(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		injection  injection.Method
		version    string
		down, want bool
	}{
		"new":       {injection: injection.Auto, version: "v1.35.0", want: true},
		"newer":     {injection: injection.Auto, version: "v1.36.2-eks-1", want: true},
		"old":       {injection: injection.Auto, version: "v1.34.9"},
		"unknown":   {injection: injection.Auto, version: "?"},
		"no answer": {injection: injection.Auto, down: true},
		"asked for": {injection: injection.ImageVolume, version: "v1.31.0", want: true},
		"not asked": {injection: injection.InitContainer, version: "v1.36.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simulation.New(t)
			if discovery, ok := c.Client.Discovery().(*fakediscovery.FakeDiscovery); ok {
				discovery.FakedServerVersion = &version.Info{GitVersion: tc.version}
			}
			if tc.down {
				c.Before(func(simulation.Request) error { return errDown })
			}
			l, err := LoadTemplate(t.Context(), TemplateSource{Cluster: c.Version(), WrapperImage: "wrapper", Injection: tc.injection, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			if got := podtemplate.HasImageVolume(&l.Current().Pod); got != tc.want {
				t.Errorf("image volume = %v, want %v", got, tc.want)
			}
			// Only an automatically chosen method may change.
			if got := l.RefuseImageVolumes("does not work"); got != (tc.want && tc.injection == injection.Auto) {
				t.Errorf("RefuseImageVolumes() = %v, want %v", got, !got)
			}
			if l.RefuseImageVolumes("again") {
				t.Error("second RefuseImageVolumes() = true, want false")
			}
		})
	}
}

func configMap(memory string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "template", Namespace: "porch"},
		Data: map[string]string{
			"template":        "spec:\n  containers:\n  - name: function\n    resources: {limits: {memory: " + memory + "}}\n",
			"serviceTemplate": "spec: {}\n",
		},
	}
}

// Changes of the ConfigMap take effect within a reload interval. A ConfigMap that is invalid or unreadable does not replace the current
// template, and is logged once.
func TestWatchTemplate(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		log := &logLines{}
		source := TemplateSource{Cluster: c.Version(), Namespace: "porch", ConfigMap: "template", ConfigMaps: c.Client.CoreV1().ConfigMaps("porch"), Log: slog.New(slog.NewTextHandler(log, nil))}
		if _, err := LoadTemplate(t.Context(), source); err == nil || !strings.Contains(err.Error(), "ConfigMap template in namespace porch") {
			t.Errorf("LoadTemplate() without the ConfigMap = %v, want an error that names it", err)
		}
		c.Put(configMap("1Gi"))
		l, err := LoadTemplate(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		changes, done := 0, make(chan struct{})
		go func() {
			defer close(done)
			l.Watch(ctx, func() { changes++ })
		}()
		want := func(memory string, n, logged int) {
			t.Helper()
			time.Sleep(5 * reload)
			synctest.Wait()
			if got := podtemplate.FunctionOf(&l.Current().Pod).Resources.Limits.Memory().String(); got != memory || changes != n {
				t.Errorf("memory = %s after %d changes, want %s after %d", got, changes, memory, n)
			}
			if got := log.count("stays in force"); got != logged {
				t.Errorf("the problem was logged %d times, want %d", got, logged)
			}
		}
		want("1Gi", 0, 0)
		c.Put(configMap("2Gi"))
		want("2Gi", 1, 0)
		broken := configMap("3Gi")
		broken.Data["serviceTemplate"] = "spec: 3"
		c.Put(broken)
		want("2Gi", 1, 1)
		c.Before(always("get", "configmaps", errors.New("down")))
		want("2Gi", 1, 2)
		c.Before(nil)
		c.Put(configMap("4Gi"))
		want("4Gi", 2, 2)
		cancel()
		<-done
	})
}

func TestWrapperAdvice(t *testing.T) {
	t.Parallel()
	own := configMap("1Gi")
	own.Data["template"] = `{spec: {initContainers: [{name: copy-wrapper-server, image: "nephio/porch-wrapper-server:v1"}],
  containers: [{name: function, command: [/wrapper-server-tools/wrapper-server], volumeMounts: [{name: tools, mountPath: /wrapper-server-tools}]}]}}`
	for name, tc := range map[string]struct {
		configMap *corev1.ConfigMap
		want      string
	}{
		"built in": {},
		"injected": {configMap: configMap("1Gi")},
		"its own": {
			own, "the wrapper server comes from image nephio/porch-wrapper-server:v1 of init container copy-wrapper-server, which is not krmfn's: " +
				"write krmfn/wrapper-server:v1 there, in ConfigMap template",
		},
	} {
		loader := &TemplateLoader{source: TemplateSource{ConfigMap: "template", WrapperImage: "krmfn/wrapper-server:v1"}}
		if _, err := loader.put(injection.InitContainer, tc.configMap); err != nil {
			t.Fatal(err)
		}
		if got := loader.wrapperAdvice(); got != tc.want {
			t.Errorf("%s: wrapperAdvice() = %q, want %q", name, got, tc.want)
		}
	}
}

// A custom template with an injected wrapper server also switches to an init container if image volumes do not work.
func TestRefusedImageVolumesOfOwnTemplates(t *testing.T) {
	t.Parallel()
	c := simulation.New(t)
	c.Put(configMap("1Gi"))
	l, err := LoadTemplate(t.Context(), TemplateSource{
		Cluster: c.Version(), Namespace: "porch", ConfigMap: "template", ConfigMaps: c.Client.CoreV1().ConfigMaps("porch"), WrapperImage: "wrapper", Injection: injection.Auto, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if pod := &l.Current().Pod; !podtemplate.HasImageVolume(pod) || len(pod.Spec.InitContainers) > 0 {
		t.Errorf("pod before RefuseImageVolumes() = %+v, want an image volume and no init container", pod.Spec)
	}
	if !l.RefuseImageVolumes("does not work") {
		t.Error("RefuseImageVolumes() = false, want true")
	}
	check := func(memory string) {
		t.Helper()
		pod := &l.Current().Pod
		if podtemplate.HasImageVolume(pod) || len(pod.Spec.InitContainers) != 1 || podtemplate.FunctionOf(pod).Resources.Limits.Memory().String() != memory {
			t.Errorf("pod = %+v, want an init container, no image volume and %s of memory", pod.Spec, memory)
		}
	}
	check("1Gi")
	c.Put(configMap("2Gi"))
	if !l.refresh(t.Context()) {
		t.Error("refresh() of a changed ConfigMap = false, want true")
	}
	check("2Gi")
}
