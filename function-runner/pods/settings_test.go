// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/traits"
)

const (
	served         = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"config.porch.kpt.dev/v1alpha1","resources":[{"name":"functionconfigs","kind":"FunctionConfig"}]}`
	functionConfig = `{"kind":"FunctionConfig","apiVersion":"config.porch.kpt.dev/v1alpha1","metadata":{"name":"x","namespace":"fns","resourceVersion":"1","generation":1,"uid":"u"},` +
		`"status":{"functionRunnerObservedGeneration":1},` +
		`"spec":{"image":"x","binaryExecutor":{"tags":["v1"],"path":"x"},"podExecutor":{"maxParallelExecutions":7}}}`
)

// withObjects serves an API with a FunctionConfig object and without pods.
func withObjects(t *testing.T) (kubeconfig string) {
	t.Helper()
	return serve(t, func(r *http.Request) string {
		switch {
		case r.URL.Path == "/apis/config.porch.kpt.dev/v1alpha1":
			return served
		case strings.HasSuffix(r.URL.Path, "/functionconfigs") && r.URL.Query().Get("watch") == "":
			return `{"kind":"FunctionConfigList","apiVersion":"config.porch.kpt.dev/v1alpha1","metadata":{"resourceVersion":"1"},"items":[` + functionConfig + `]}`
		}
		return ""
	})
}

// The result cache applies to functions that an image label or an object declares deterministic. The object overrides the label.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	const digest = "sha256:0a"
	p := &Pods{images: registry.NewCache(t.Context(), nil, registry.CacheOptions{})}
	defer p.images.Close()
	var known []registry.Image
	for _, name := range []string{"r.io/labelled:v1", "r.io/overridden:v1"} {
		known = append(known, registry.Image{Reference: name, Digest: digest, Traits: traits.Traits{Deterministic: true}})
	}
	p.images.Load(append(known, registry.Image{Reference: "r.io/plain:v1", Digest: digest}))
	if yes, _ := p.deterministic("r.io/labelled:v1", digest); !yes {
		t.Error("deterministic() of a labelled image without objects = false, want true")
	}
	declared := func(value string) functionconfig.Settings {
		return functionconfig.Settings{Declared: map[string]string{traits.DeterministicLabel: value}}
	}
	p.configs = objects{"r.io/overridden": declared("false"), "r.io/unknown": declared("true"), "r.io/plain": declared("wrong")}
	for name, want := range map[string]bool{
		"r.io/labelled:v1": true, "r.io/plain:v1": false, "r.io/overridden:v1": false, "r.io/unknown:v1": true,
	} {
		if got, known := p.deterministic(name, digest); got != want || !known {
			t.Errorf("deterministic(%s) = %v, known %v, want %v, known true", name, got, known, want)
		}
	}
	if yes, known := p.deterministic("r.io/other:v1", digest); yes || known {
		t.Errorf("deterministic() of an unknown image = %v, known %v, want false, false", yes, known)
	}
}

// The settings of objects are applied before Run calls ready.
func TestFunctionConfigs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("#!/bin/sh\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change    func(*options.Options)
		functions []exec.Executable
		pods      int
	}{
		"followed": {
			change: func(*options.Options) {}, pods: 7,
			functions: []exec.Executable{{Name: "x", Path: filepath.Join(dir, "x"), Implementation: "x", Images: []string{"r.io/x:v1"}}},
		},
		"without executables": {change: func(o *options.Options) { o.DisableRuntimes = "exec" }, pods: 7},
		"off":                 {change: func(o *options.Options) { o.Pod.FunctionConfigs = options.FunctionConfigsOff }, pods: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConfig(t, wrapperImageVariable+"=wrapper")
			c.Options.Pod.Kubeconfig, c.Options.Pod.Namespace = withObjects(t), "fns"
			c.Options.Exec.Functions, c.Options.DefaultImagePrefix = dir, "r.io"
			tc.change(&c.Options)
			p, err := New(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			var functions []exec.Executable
			p.Configure(func(f []exec.Executable) { functions = f })
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			ready, done := make(chan struct{}), make(chan error, 1)
			go func() { done <- p.Run(ctx, func() { close(ready) }) }()
			select {
			case <-ready:
			case <-ctx.Done():
				t.Fatal("Run() did not call ready")
			}
			if got := p.limits("r.io/x:v3").MaxPods; got != tc.pods {
				t.Errorf("MaxPods = %d, want %d", got, tc.pods)
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tc.functions, functions); diff != "" {
				t.Errorf("executables (-want +got):\n%s", diff)
			}
		})
	}
}

// serve serves an API with the responses of answer, which otherwise has no pods, and returns a kubeconfig for it.
func serve(t *testing.T, answer func(*http.Request) string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := answer(r)
		query := r.URL.Query()
		switch {
		case text != "":
		case r.URL.Path == "/version":
			text = `{"gitVersion":"v1.36.0"}`
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
			text = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`
		case query.Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		case strings.HasSuffix(r.URL.Path, "/pods"):
			text = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`
		default:
			w.WriteHeader(http.StatusNotFound)
			text = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":"configmaps \"template\" not found","code":404}`
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u}]\n" +
		"clusters: [{name: c, cluster: {server: " + server.URL + "}}]\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}
