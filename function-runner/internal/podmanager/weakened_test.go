// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/podpatch"
)

// A pod that the API server creates with less isolation than configured is deleted before it runs, and its callers get the name of the
// missing field.
func TestPodsWithLessIsolationAreDeleted(t *testing.T) {
	t.Parallel()
	patches, err := podpatch.Parse([]byte("apiVersion: krmfn.dev/v1alpha1\nkind: FunctionPods\ndefaults: {spec: {hostUsers: false}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Kubelet(func(string) {}) // Starting a pod takes longer than deleting it.
		c.Admit(func(p *corev1.Pod) { p.Spec.HostUsers = nil })
		r := start(t, c)
		r.limit(func(l *Limits) { l.Patches = patches.For(fn) })
		_, err := r.call(digest("a"))
		if err == nil || !strings.Contains(err.Error(), "without spec.hostUsers: the cluster needs user namespaces") {
			t.Errorf("call error = %v, want it to name spec.hostUsers", err)
		}
		synctest.Wait()
		wantPods(t, c)
		c.Kubelet(c.Run)
		c.Admit(func(*corev1.Pod) {})
		r.limit(func(l *Limits) { l.Patches = nil })
		r.mustCall(digest("b"))
	})
}

// A pod that was created without its annotations is deleted. Its callers get an error, and its ordinal and warm-up slot are released.
func TestPodsWithoutAnnotationsAreDeleted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Kubelet(func(string) {})
		c.Admit(func(p *corev1.Pod) { p.Annotations = nil })
		r := start(t, c, func(config *Config) { config.MaxWarmUps = 1 })
		f := r.Pool("r.io/other:v1", digest("a"))
		defer f.Done()
		f.Warm()
		synctest.Wait()
		if _, err := r.call(digest("a")); err == nil || !strings.Contains(err.Error(), "without its annotations") {
			t.Errorf("call error = %v, want it to contain \"without its annotations\"", err)
		}
		synctest.Wait()
		wantPods(t, c)
		c.Kubelet(c.Run)
		c.Admit(func(*corev1.Pod) {})
		r.mustCall(digest("b"))
	})
}
