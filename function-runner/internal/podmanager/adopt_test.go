// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

// made creates a pod like a function runner that has ended since.
func made(t *testing.T, c *simulation.Cluster, reference, digest string, ordinal int, changes ...func(*Config)) string {
	t.Helper()
	earlier := newReplica(t, c, changes...)
	f := earlier.Pool(reference, digest)
	earlier.request(f, ordinal)
	earlier.end()
	return f.ID.Of(ordinal)
}

func withTemplate(t *testing.T, c *simulation.Cluster, wrapper string) func(*Config) {
	t.Helper()
	return func(config *Config) {
		template, err := podtemplate.Default(wrapper, injection.InitContainer)
		if err != nil {
			t.Fatal(err)
		}
		loader := newTemplates(c, injection.InitContainer)
		loader.current.Store(template)
		config.Templates = loader
	}
}

// A function runner that starts does not connect to ready pods until a call needs one.
func TestAdoptionMakesNoConnections(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		for i := range 20 {
			made(t, c, numbered(i), digest("a"), 1)
		}
		synctest.Wait()
		before := c.Dials()
		r := start(t, c)
		time.Sleep(10 * time.Second)
		if n := c.Dials() - before; n > 0 {
			t.Errorf("connections without a call = %d, want 0", n)
		}
		begin := time.Now()
		if _, err := r.callWithin(t.Context(), numbered(7), digest("a")); err != nil || time.Since(begin) > 0 {
			t.Errorf("a warm call returned %v after %v, want nil at once", err, time.Since(begin))
		}
		if n := c.Dials() - before; n != 1 {
			t.Errorf("connections for one call = %d, want 1", n)
		}
	})
}

// A function runner that starts adopts the existing pods, whatever their state, and creates none.
func TestAdoption(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		ready := made(t, c, fn, digest("a"), 1)
		otherTemplate := made(t, c, fn, digest("a"), 1, withTemplate(t, c, "wrapper:older"))
		otherDigest := made(t, c, fn, digest("b"), 1)
		c.Kubelet(func(string) {})
		coming := made(t, c, "r.io/coming", digest("c"), 3)
		failed := made(t, c, "r.io/failed", digest("d"), 1)
		c.Waits(failed, "ImagePullBackOff", "gone")
		going := made(t, c, "r.io/going", digest("e"), 1)
		c.Hold(true)
		if err := c.Client.CoreV1().Pods(simulation.Namespace).Delete(t.Context(), going, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before := c.Requests("create", "")

		r := start(t, c)
		if got := r.mustCall(digest("a")); got != ready {
			t.Errorf("pod %s has run the call, want %s", got, ready)
		}
		call := r.begin("r.io/coming", digest("c"))
		c.Run(coming)
		if got := <-call; got != (answer{pod: coming}) {
			t.Errorf("call got %v, want pod %s", got, coming)
		}
		if n := c.Requests("create", "") - before; n > 0 {
			t.Errorf("create requests = %d, want 0", n)
		}
		time.Sleep(discardSpread)
		synctest.Wait()
		deleted := map[string]bool{}
		for _, pod := range c.Pods() {
			deleted[pod.Name] = pod.DeletionTimestamp != nil
		}
		want := map[string]bool{ready: false, otherTemplate: false, otherDigest: false, coming: false, failed: true, going: true}
		if diff := cmp.Diff(want, deleted); diff != "" {
			t.Errorf("pods that are being deleted (-want +got):\n%s", diff)
		}
		for reference, digest := range map[string]string{"r.io/coming": digest("c"), "r.io/going": digest("e")} {
			if got := r.images.seeded[reference]; got != digest {
				t.Errorf("seeded digest of %s = %q, want %q", reference, got, digest)
			}
		}
		var references []string
		for _, f := range r.Functions() {
			references = append(references, f.Reference)
		}
		if diff := cmp.Diff([]string{"r.io/coming", "r.io/failed", fn, "r.io/going"}, references); diff != "" {
			t.Errorf("functions with pods (-want +got):\n%s", diff)
		}
		// The pods that the call has superseded expire soon. The used pod stays.
		c.Hold(false)
		time.Sleep(supersededTTL)
		r.rescan()
		wantPods(t, c, ready, coming)
	})
}

// An adopted pod that is never called expires like any other.
func TestAdoptedPodExpires(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		pod := made(t, c, fn, digest("a"), 1)
		synctest.Wait()
		r := start(t, c)
		time.Sleep(ttl - time.Second)
		r.rescan()
		wantPods(t, c, pod)
		time.Sleep(2 * time.Second)
		r.rescan()
		wantPods(t, c)
		r.rescan()
		if len(r.workloads) > 0 {
			t.Errorf("known pools = %d, want 0", len(r.workloads))
		}
	})
}

// Foreign pods get no calls, stay for ForeignTTL, and are then deleted.
func TestForeignPods(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		porch := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "fn-v1-1-01234567", Namespace: simulation.Namespace, Labels: map[string]string{functionpod.ImageLabel: "fn-v1-1-01234567"},
			Annotations: map[string]string{functionpod.TemplateAnnotation: "1"},
		}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: podtemplate.FunctionContainer, Image: fn}}}}
		c.Put(porch)
		c.Run(porch.Name)
		// Neither the labels nor the name make a pod ours.
		forged := porch.DeepCopy()
		forged.Name = "forged"
		forged.Labels = map[string]string{functionpod.ImageLabel: "forged", functionpod.PoolLabel: "01234567", functionpod.OrdinalLabel: "1"}
		c.Put(forged)
		r := start(t, c)
		own := r.mustCall(digest("a"))
		wantPods(t, c, own, porch.Name, forged.Name)
		if n := c.Wrapper(porch.Name).Calls(); n > 0 {
			t.Errorf("the foreign pod got %d calls, want 0", n)
		}
		time.Sleep(ttl - time.Second)
		r.mustCall(digest("a"))
		r.rescan()
		wantPods(t, c, own, porch.Name, forged.Name)
		time.Sleep(2 * time.Second)
		r.rescan()
		wantPods(t, c, own)
		if len(r.foreign) > 0 {
			t.Errorf("known foreign pods = %d, want 0", len(r.foreign))
		}
	})
}

// A foreign pod that was created again under the same name gets its own ForeignTTL.
func TestForeignPodReplaced(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "porch", Namespace: simulation.Namespace, Labels: map[string]string{functionpod.ImageLabel: "porch"},
		}}
		c.Put(pod)
		r := start(t, c)
		time.Sleep(ttl + time.Second)
		// The watch is late.
		c.DelayWatches(true)
		c.Put(pod)
		r.rescan()
		wantPods(t, c, "porch")
		c.DelayWatches(false)
		synctest.Wait()
		time.Sleep(ttl - time.Second)
		r.rescan()
		wantPods(t, c, "porch")
		time.Sleep(2 * time.Second)
		r.rescan()
		wantPods(t, c)
	})
}

// A create response that arrives after newer watch events does not replace them.
func TestAnswerOvertakenByWatch(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall(digest("a"))
		created := c.Pods()[0]
		created.ResourceVersion, created.Status = "1", corev1.PodStatus{}
		r.observe(created)
		time.Sleep(ttl + time.Second)
		r.rescan()
		// The delete request had the latest resource version.
		wantPods(t, c)
		if n := r.log.count("function pod deleted"); n != 1 {
			t.Errorf("pod %s was deleted %d times, want once", pod, n)
		}
	})
}

// A pod that is deleted and created again between two watch events counts as another pod.
func TestPodReplacedUnseen(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall(digest("a"))
		c.DelayWatches(true)
		if err := c.Client.CoreV1().Pods(simulation.Namespace).Delete(t.Context(), pod, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if again := made(t, c, fn, digest("a"), 1); again != pod {
			t.Fatalf("pod %s was created, want %s", again, pod)
		}
		synctest.Wait()
		// This is what an informer reports after it has lost its watch.
		r.observe(c.Pods()[0])
		r.mustCall(digest("a"))
		wantPods(t, c, pod)
		wantStats(t, r, digest("a"), pool.Stats{Ready: 1})
		c.DelayWatches(false)
		synctest.Wait()
		wantStats(t, r, digest("a"), pool.Stats{Ready: 1})
	})
}

func TestFrontends(t *testing.T) {
	t.Parallel()
	pod := func(inits, containers []string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "ns"}, Status: corev1.PodStatus{PodIP: "fd00::1"}}
		for _, name := range inits {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: name})
		}
		for _, name := range containers {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name})
		}
		return p
	}
	const byService, byIP = "dns:///pod.ns.svc:9446", "passthrough:///[fd00::1]:9446"
	for _, tc := range []struct {
		frontend          Frontend
		inits, containers string
		want              string
	}{
		{Auto, "copy-wrapper-server", "function", byIP},
		{Auto, "", "function istio-proxy", byService},
		{Auto, "istio-proxy", "function", byService},
		{Auto, "", "function linkerd-proxy", byService},
		{Auto, "", "function my-sidecar", byIP},
		{ByPodIP, "", "function istio-proxy", byIP},
		{ByService, "", "function", byService},
	} {
		if got := tc.frontend.target(pod(strings.Fields(tc.inits), strings.Fields(tc.containers))); got != tc.want {
			t.Errorf("%s.target() with init containers %q and containers %q = %s, want %s", tc.frontend, tc.inits, tc.containers, got, tc.want)
		}
	}
}
