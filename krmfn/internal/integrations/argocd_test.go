// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package integrations_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

// plugin has the fields of a ConfigManagementPlugin that ours uses.
type plugin struct {
	APIVersion string                `json:"apiVersion"`
	Kind       string                `json:"kind"`
	Metadata   struct{ Name string } `json:"metadata"`
	Spec       struct {
		Version  string `json:"version"`
		Discover struct {
			FileName string `json:"fileName"`
		} `json:"discover"`
		Init     step `json:"init"`
		Generate step `json:"generate"`
	} `json:"spec"`
}

type step struct {
	Command []string `json:"command"`
	Args    []string `json:"args"`
}

// The plugin's commands, run as Argo CD's server of plugins does, print the manifests and nothing else.
func TestArgoCD(t *testing.T) {
	t.Parallel()
	var p plugin
	read(t, "integrations/argocd/plugin.yaml", &p)
	if p.APIVersion != "argoproj.io/v1alpha1" || p.Kind != "ConfigManagementPlugin" {
		t.Fatalf("it is a %s %s", p.APIVersion, p.Kind)
	}
	dir := filepath.Join(t.TempDir(), "copy", "apps", "shop")
	newPackage(t, dir)
	if found, err := filepath.Glob(filepath.Join(dir, p.Spec.Discover.FileName)); err != nil || len(found) != 1 {
		t.Errorf("%s finds %v, %v", p.Spec.Discover.FileName, found, err)
	}
	environ := []string{"PATH=" + install(t), "HOME=" + t.TempDir(), "ARGOCD_APP_NAME=shop", "ARGOCD_APP_NAMESPACE=shop", "ARGOCD_ENV_STAGE=test"}
	if got := execute(t, dir, environ, append(p.Spec.Init.Command, p.Spec.Init.Args...)...); got.Code != 0 {
		t.Fatalf("init ends with %d: %s", got.Code, got.Err)
	}
	got := execute(t, dir, environ, append(p.Spec.Generate.Command, p.Spec.Generate.Args...)...)
	if diff := cmp.Diff(outcome{Out: rendered}, got); diff != "" {
		t.Errorf("generate (-want +got):\n%s", diff)
	}

	// A package that cannot be rendered is an error that says why.
	if err := os.WriteFile(filepath.Join(dir, "namespace.yaml"), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: namespace\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := execute(t, dir, environ, p.Spec.Init.Command...); got.Code != 1 || got.Err == "" {
		t.Errorf("a broken package: %+v", got)
	}
}

// The sidecar mounts what it names, as the user of Argo CD.
func TestArgoCDSidecar(t *testing.T) {
	t.Parallel()
	var d appsv1.Deployment
	read(t, "integrations/argocd/repo-server.yaml", &d)
	pod := d.Spec.Template.Spec
	// These are the repo server's own.
	volumes := map[string]bool{"var-files": true, "plugins": true}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	c := pod.Containers[0]
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("there is no volume %s", m.Name)
		}
	}
	if *c.SecurityContext.RunAsUser != 999 || c.Image != "ghcr.io/krmfn/krmfn:"+release(t) {
		t.Errorf("got %s as %d", c.Image, *c.SecurityContext.RunAsUser)
	}
}

// release returns the version of krmfn that versions.yaml has.
func release(t *testing.T) string {
	t.Helper()
	var versions struct {
		Chart    string            `json:"chart"`
		Images   map[string]string `json:"images"`
		Modules  map[string]string `json:"modules"`
		Go       string            `json:"go"`
		Previous string            `json:"previous"`
	}
	read(t, "versions.yaml", &versions)
	return versions.Images["krmfn"]
}
