// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/traits"
)

// edit replaces the current template.
func (r *replica) edit(wrapper string) {
	r.t.Helper()
	template, err := podtemplate.Default(wrapper, injection.InitContainer)
	if err != nil {
		r.t.Fatal(err)
	}
	r.config.Templates.current.Store(template)
	r.Changed()
}

// Pods run a function with the traits that its image labels declare, unless annotations override them. Changed annotations replace the
// pods. Changed labels do not, because they are unknown before a pod is created.
func TestTraits(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		want := func(pod string, want ...string) {
			t.Helper()
			for _, p := range c.Pods() {
				if p.Name != pod {
					continue
				}
				var got []string
				for _, arg := range podtemplate.FunctionOf(p).Args {
					if slices.Contains([]string{"--worker", "--standby-processes", "0"}, arg) {
						got = append(got, arg)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("pod %s has arguments (-want +got):\n%s", pod, diff)
				}
			}
		}
		r.images.traits = traits.Traits{Worker: true, NoStandby: true}
		first := r.mustCall(digest("a"))
		want(first, "--standby-processes", "0", "--worker")
		r.images.traits = traits.Traits{}
		again := start(t, c)
		if got := again.mustCall(digest("a")); got != first {
			t.Errorf("pod %s has run the call, want %s", got, first)
		}
		again.stop()
		r.images.traits = traits.Traits{Worker: true, NoStandby: true}
		r.limit(func(l *Limits) { l.Declared = map[string]string{traits.WorkerLabel: "false"} })
		second := r.mustCall(digest("a"))
		if second == first {
			t.Fatal("the old pod has run the call")
		}
		want(second, "--standby-processes", "0")
	})
}

// After a template change, new calls go to new pods. The old pods finish their calls, and expire when they are idle.
func TestTemplateChanges(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		r.limit(func(l *Limits) { l.MinPods = 1 })
		before := r.mustCall(digest("a"))
		running, letGo := block()
		c.Wrapper(before).Handle(running)
		call := r.begin(fn, digest("a"))
		r.edit("wrapper:newer")
		after := r.mustCall(digest("a"))
		if after == before {
			t.Fatal("the old pod has run the call")
		}
		time.Sleep(ttl + time.Minute)
		r.mustCall(digest("a"))
		r.rescan()
		wantPods(t, c, before, after)
		letGo()
		if got := <-call; got != (answer{pod: before}) {
			t.Errorf("the running call got %v, want pod %s", got, before)
		}
		time.Sleep(supersededTTL / 2)
		r.rescan()
		wantPods(t, c, before, after)
		time.Sleep(supersededTTL)
		r.rescan()
		wantPods(t, c, after)
		if r.log.count("reason=replaced") != 1 {
			t.Error("reason=replaced is not logged exactly once")
		}
		r.rescan()
		if len(r.workloads) != 1 {
			t.Errorf("known pools = %d, want 1", len(r.workloads))
		}
		// Reverting the change makes the first pool current again.
		r.edit("wrapper")
		if got := r.mustCall(digest("a")); got != before {
			t.Errorf("pod %s has run the call, want %s", got, before)
		}
	})
}

// After a tag has moved, new calls go to pods of the new image. The old pods expire when they are idle and all replicas have had TagTTL
// to learn of the move.
func TestTagMoves(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		const tagTTL = 5 * time.Minute
		r := start(t, c, func(config *Config) { config.TagTTL = tagTTL })
		before := r.mustCall(digest("a"))
		after := r.mustCall(digest("b"))
		if _, _, d := imageOf(c, after); d != digest("b") {
			t.Errorf("pod %s has digest %s, want %s", after, d, digest("b"))
		}
		time.Sleep(tagTTL / 2)
		r.rescan()
		wantPods(t, c, before, after)
		time.Sleep(tagTTL)
		r.rescan()
		wantPods(t, c, after)
	})
}

func imageOf(c *simulation.Cluster, name string) (image string, slot int, digest string) {
	for _, pod := range c.Pods() {
		if pod.Name == name {
			id, slot, _ := identity(pod)
			return id.Image, slot, id.Digest
		}
	}
	return "", 0, ""
}

// Changed limits apply to calls that already wait.
func TestLimitsChange(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		r.limit(func(l *Limits) { l.PerPod = 1 })
		pod := r.mustCall(digest("a"))
		running, letGo := block()
		c.Wrapper(pod).Handle(running)
		calls := []<-chan answer{r.begin(fn, digest("a")), r.begin(fn, digest("a"))}
		wantStats(t, r, digest("a"), pool.Stats{Ready: 1, Running: 1, Waiting: 1})
		r.limit(func(l *Limits) { l.PerPod = 2 })
		wantStats(t, r, digest("a"), pool.Stats{Ready: 1, Running: 2})
		letGo()
		for _, call := range calls {
			if got := <-call; got != (answer{pod: pod}) {
				t.Errorf("call got %v, want pod %s", got, pod)
			}
		}
	})
}

// Changed overrides create other pods for the next calls. The old pods expire when they are idle.
func TestOverridesChange(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		before := r.mustCall(digest("a"))
		for range 2 {
			r.limit(func(l *Limits) { l.Overrides = &functionconfig.Overrides{ServiceAccountName: "sa"} })
			after := r.mustCall(digest("a"))
			wantPods(t, c, before, after)
			for _, pod := range c.Pods() {
				if got := pod.Spec.ServiceAccountName == "sa"; got != (pod.Name == after) {
					t.Errorf("pod %s has service account %q, want sa: %v", pod.Name, pod.Spec.ServiceAccountName, pod.Name == after)
				}
			}
		}
		time.Sleep(supersededTTL + time.Second)
		r.rescan()
		wantPods(t, c, r.mustCall(digest("a")))
		r.limit(func(l *Limits) { l.Overrides = nil })
		if got := r.mustCall(digest("a")); got != made2(before) {
			t.Errorf("pod %s has run the call, want one of the pool that %s was in", got, before)
		}
	})
}

// Changed resources create other pods. A pod that is created before a call has applied the change belongs to the old pool.
func TestResourcesChange(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		before := r.mustCall(digest("a"))
		r.limit(func(l *Limits) {
			l.MaxPods, l.MinPods = 2, 2
			l.Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("3Gi")}}
		})
		synctest.Wait()
		if len(r.foreign) > 0 {
			t.Fatalf("foreign pods = %v, want none", r.foreign)
		}
		wantPods(t, c, before, made2(before))
		after := r.mustCall(digest("a"))
		for _, pod := range c.Pods() {
			if pod.Name == after && podtemplate.FunctionOf(pod).Resources.Limits.Memory().String() != "3Gi" {
				t.Errorf("pod %s has limits %v, want 3Gi of memory", after, podtemplate.FunctionOf(pod).Resources.Limits)
			}
		}
		wantStats(t, r, digest("a"), pool.Stats{Ready: 2})
		time.Sleep(supersededTTL + time.Second)
		r.rescan()
		if n := len(c.Pods()); n != 2 {
			t.Errorf("pods = %d, want the 2 pods of the new pool", n)
		}
	})
}

// made2 returns the name of the pod with ordinal 2, given the name of the pod with ordinal 1.
func made2(first string) string {
	return first[:len(first)-len("1-01234567")] + "2" + first[len(first)-len("-01234567"):]
}

// A connection that breaks and recovers within suspectTimeout does not replace the pod.
func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall(digest("a"))
		w := c.Wrapper(pod)
		w.Kill()
		synctest.Wait()
		wantStats(t, r, digest("a"), pool.Stats{Starting: 1})
		call := r.begin(fn, digest("a"))
		time.Sleep(suspectTimeout / 2)
		w.Start(c)
		if got := <-call; got != (answer{pod: pod}) {
			t.Errorf("call got %v, want pod %s", got, pod)
		}
		wantPods(t, c, pod)
	})
}

// A pod that this replica cannot reach, although the kubelet reports it as ready, is replaced within seconds, and used again when it is
// reachable.
func TestUnreachableIsReplaced(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall(digest("a"))
		w := c.Wrapper(pod)
		w.Kill()
		begin := time.Now()
		got := <-r.begin(fn, digest("a"))
		if waited := time.Since(begin); got.err != nil || got.pod == pod || waited > 5*time.Second {
			t.Errorf("call got %v after %v, want another pod within 5 s", got, waited)
		}
		wantStats(t, r, digest("a"), pool.Stats{Ready: 1, Unreachable: 1})
		wantPods(t, c, pod, got.pod)
		wantAvoids(t, c, pod)
		wantAvoids(t, c, got.pod, node(c, pod))
		w.Start(c)
		time.Sleep(time.Second)
		wantStats(t, r, digest("a"), pool.Stats{Ready: 2})
		if again := r.mustCall(digest("a")); again != pod {
			t.Errorf("pod %s has run the call, want %s again", again, pod)
		}
	})
}

// node returns the node of a pod.
func node(c *simulation.Cluster, name string) string {
	for _, pod := range c.Pods() {
		if pod.Name == name {
			return pod.Spec.NodeName
		}
	}
	return ""
}

// wantAvoids checks which nodes a pod's affinity avoids.
func wantAvoids(t *testing.T, c *simulation.Cluster, name string, want ...string) {
	t.Helper()
	var got []string
	for _, pod := range c.Pods() {
		if pod.Name != name {
			continue
		}
		for _, term := range pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			got = append(got, term.Preference.MatchFields[0].Values...)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes that pod %s avoids (-want +got):\n%s", name, diff)
	}
}

// A pod that stays unreachable is deleted, which frees its ordinal.
func TestUnreachableIsDeleted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kubelet corev1.ConditionStatus
		within  time.Duration
	}{
		"though the kubelet holds it for ready":     {corev1.ConditionTrue, 2*time.Minute + 2*time.Second},
		"and the kubelet holds it for unready, too": {corev1.ConditionFalse, unreachableTimeout + 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				r := start(t, c)
				pod := r.mustCall(digest("a"))
				c.Wrapper(pod).Kill()
				c.Ready(pod, tc.kubelet)
				other := r.mustCall(digest("a"))
				time.Sleep(tc.within)
				synctest.Wait()
				wantPods(t, c, other)
				if n := r.log.count("reason=unreachable"); n != 1 {
					t.Errorf("reason=unreachable was logged %d times, want once, with the deletion", n)
				}
			})
		})
	}
}

// A hanging pod, like on a paused node, is detected by the calls that it does not start: they go to another pod within 5 seconds. The
// started calls fail soon after.
func TestHangingPod(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		r.limit(func(l *Limits) { l.MaxPods = 2 })
		pod := r.mustCall(digest("a"))
		running, letGo := block()
		c.Wrapper(pod).Handle(running)
		begun := r.begin(fn, digest("a"))
		c.Wrapper(pod).Hang(true)
		begin := time.Now()
		got := <-r.begin(fn, digest("a"))
		if waited := time.Since(begin); got.err != nil || got.pod == pod || waited > 5*time.Second {
			t.Errorf("call got %v after %v, want another pod within 5 s", got, waited)
		}
		if got := <-begun; !errors.As(got.err, new(*endpoint.LostError)) {
			t.Errorf("the started call got %v, want a LostError", got)
		}
		if waited := time.Since(begin); waited > 10*time.Second {
			t.Errorf("the started call waited for %v, want at most 10 s", waited)
		}
		letGo()
		c.Wrapper(pod).Hang(false)
	})
}

// A pod that reports NOT_SERVING gets no calls and is replaced. It gets calls again when it serves.
func TestNotServing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		pod := r.mustCall(digest("a"))
		c.Wrapper(pod).Refuse(true, false)
		begin := time.Now()
		other := r.mustCall(digest("a"))
		if waited := time.Since(begin); other == pod || waited > 5*time.Second {
			t.Errorf("pod %s has run the call after %v, want another pod within 5 s", other, waited)
		}
		c.Wrapper(pod).Refuse(false, true)
		time.Sleep(time.Second)
		if got := r.mustCall(digest("a")); got != pod {
			t.Errorf("pod %s has run the call, want %s again", got, pod)
		}
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		c.Kubelet(func(string) {})
		r := start(t, c)
		f := r.Pool(fn, digest("a"))
		defer f.Done()
		f.Warm()
		synctest.Wait()
		pod := f.ID.Of(1)
		want := []string{"pod " + pod + " waits for a node"}
		c.Waits(pod, "ContainerCreating", "")
		synctest.Wait()
		got := []string{want[0], r.Explain(f)}
		want = append(want, "pod "+pod+" is on node node, container function: ContainerCreating, for 0s")
		c.Run(pod)
		synctest.Wait()
		got, want = append(got, r.Explain(f)), append(want, "0 calls run in 1 pods, 0 pods are being created")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Explain() (-want +got):\n%s", diff)
		}
	})
}

// All replicas give up a failed pod at the same moment, and one of them deletes it.
func TestFailedPodIsDeletedOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		pod := made(t, c, fn, digest("a"), 1)
		for range 10 {
			start(t, c)
		}
		c.Hold(true)
		c.Waits(pod, "ImagePullBackOff", "gone")
		c.DelayWatches(true)
		time.Sleep(discardSpread / 100)
		c.DelayWatches(false)
		atOnce := c.Requests("delete", "pods")
		if atOnce > 2 {
			t.Errorf("%d replicas request the deletion at the same moment, want at most 2", atOnce)
		}
		time.Sleep(discardSpread)
		synctest.Wait()
		if n := c.Requests("delete", "pods"); n != max(1, atOnce) {
			t.Errorf("%d requests to delete the pod, want 1, or the %d of the first moment", n, atOnce)
		}
	})
}
