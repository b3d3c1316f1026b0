// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sweep_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
)

// draw returns a random duration before now. Most durations are near those at which decisions change.
func draw(t *rapid.T, what string) time.Duration {
	minutes := rapid.SampledFrom([]int{-600, -1, 0, 1, 4, 5, 6, 15, 20, 21, 35, 40, 60, 65, 66, 85, 600}).Draw(t, what)
	return time.Duration(minutes)*time.Minute + time.Duration(rapid.IntRange(-1, 1).Draw(t, what+" seconds"))*time.Second
}

// drawPod returns a random pod.
func drawPod(t *rapid.T, name string) *corev1.Pod {
	pod := functionPod(name, created(draw(t, "made")), used(draw(t, "used")),
		phase(rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded}).Draw(t, "phase")),
		of(rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "pool"), rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "template")),
		ttl(rapid.SampledFrom([]string{"1m", "20m", "40m", "x"}).Draw(t, "ttl")))
	for _, key := range []string{functionpod.LastUseAnnotation, functionpod.TTLAnnotation, functionpod.ReferenceAnnotation} {
		if rapid.IntRange(0, 4).Draw(t, key) == 0 {
			delete(pod.Annotations, key)
		}
	}
	for _, key := range []string{functionpod.PoolLabel, functionpod.OrdinalLabel, functionpod.WarmerLabel} {
		switch rapid.IntRange(0, 5).Draw(t, key) {
		case 0:
			delete(pod.Labels, key)
		case 1:
			pod.Labels[key] = ""
		case 2:
			pod.Labels[key] = "p"
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "ended") == 0 {
		ended(draw(t, "ended at"))(pod)
	}
	if rapid.IntRange(0, 4).Draw(t, "terminating") == 0 {
		terminating(draw(t, "terminating at"))(pod)
	}
	if rapid.Bool().Draw(t, "unready") {
		unready(pod)
	}
	return pod
}

// isOurs reports whether an object has krmfn's labels. It does not use the code under test.
func isOurs(o metav1.Object) bool {
	l := o.GetLabels()
	_, isPod := o.(*corev1.Pod)
	return l[functionpod.PoolLabel] != "" && l[functionpod.OrdinalLabel] != "" || isPod && l[functionpod.WarmerLabel] != ""
}

// Random objects: Decide ignores objects of others. It deletes no young or terminating object, no running pod that was used within half of
// its time to live and, unless the pod is superseded, none that was used within its time to live.
func TestNeverDeleted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		byName := map[string]metav1.Object{}
		var o sweep.Objects
		for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
			pod := drawPod(t, fmt.Sprintf("pod-%d", i))
			o.Pods, byName["Pod "+pod.Name] = append(o.Pods, pod), pod
		}
		for i := range rapid.IntRange(0, 6).Draw(t, "services") {
			name := fmt.Sprintf("pod-%d", i)
			s := service(name, rapid.SampledFrom([]string{"uid-" + name, "uid-before"}).Draw(t, "owner"))
			s.Labels = drawPod(t, "of").Labels
			s.CreationTimestamp = ago(draw(t, "service made"))
			o.Services, byName["Service "+name] = append(o.Services, s), s
		}
		result := sweep.Decide(o, rules, now)
		ours := 0
		for _, object := range byName {
			if isOurs(object) {
				ours++
			}
		}
		if seen := result.Seen[sweep.Pod] + result.Seen[sweep.Service]; seen != ours {
			t.Errorf("Seen = %d objects, want %d", seen, ours)
		}
		for _, d := range result.Decisions {
			object := byName[string(d.Kind)+" "+d.Name]
			if !isOurs(object) {
				t.Errorf("%s %s has no labels of krmfn, decision %s", d.Kind, d.Name, d.Reason)
			}
			if age := now.Sub(object.GetCreationTimestamp().Time); d.Delete && (age <= grace || object.GetDeletionTimestamp() != nil) {
				t.Errorf("%s %s of age %v is deleted: %s", d.Kind, d.Name, age, d.Reason)
			}
			if pod, ok := object.(*corev1.Pod); ok && d.Delete {
				checkUse(t, pod, d)
			}
		}
	})
}

// checkUse fails the test if a deleted pod may be in use.
func checkUse(t *rapid.T, pod *corev1.Pod, d sweep.Decision) {
	if d.Reason == sweep.Failed || d.Reason == sweep.Finished || pod.Labels[functionpod.PoolLabel] == "" || pod.Labels[functionpod.OrdinalLabel] == "" {
		return
	}
	last, err := time.Parse(time.RFC3339, pod.Annotations[functionpod.LastUseAnnotation])
	if err != nil {
		last = pod.CreationTimestamp.Time
	}
	may := podTTL
	if text, ok := pod.Annotations[functionpod.TTLAnnotation]; ok {
		if may, err = time.ParseDuration(text); err != nil {
			t.Errorf("pod %s is deleted despite its invalid time to live", pod.Name)
		}
	}
	if d.Reason == sweep.Superseded {
		may /= 2
	}
	if idle := now.Sub(last); idle <= may+grace {
		t.Errorf("pod %s is deleted after %v of idleness, may be idle for %v: %s", pod.Name, idle, may, d.Reason)
	}
}

// A second sweep at the same time deletes nothing more, because the decision on one pod does not depend on deleted ones.
func TestSecondSweepDeletesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var o sweep.Objects
		for i := range rapid.IntRange(0, 8).Draw(t, "pods") {
			o.Pods = append(o.Pods, drawPod(t, fmt.Sprintf("pod-%d", i)))
		}
		gone := map[string]bool{}
		for _, d := range sweep.Decide(o, rules, now).Decisions {
			gone[d.Name] = d.Delete
		}
		var rest sweep.Objects
		for _, pod := range o.Pods {
			if !gone[pod.Name] {
				rest.Pods = append(rest.Pods, pod)
			}
		}
		for _, d := range sweep.Decide(rest, rules, now).Decisions {
			if d.Delete {
				t.Errorf("pod %s is deleted by the second sweep only: %s, %s", d.Name, d.Reason, d.Detail)
			}
		}
	})
}
