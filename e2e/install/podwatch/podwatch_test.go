// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podwatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/krmfn/krmfn/e2e/install"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pod(name, image string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: install.FunctionNamespace, UID: types.UID(name),
		Labels: map[string]string{install.ImageLabel: name}, Annotations: map[string]string{install.ReferenceAnnotation: image},
	}}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w, err := Start(t.Context(), fake.NewClientset(pod("a-1", "a"), pod("b-1", "b")), install.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	w.see(pod("a-2", "a"))
	ending := pod("a-1", "a")
	ending.DeletionTimestamp = new(metav1.NewTime(time.Unix(0, 0)))
	w.see(ending)
	w.see(pod("a-3", "a"))
	failed := pod("b-1", "b")
	failed.Status.Phase = corev1.PodFailed
	w.see(failed)
	w.see(pod("b-2", "b"))
	w.gone(cache.DeletedFinalStateUnknown{Obj: pod("a-3", "a")})
	w.gone(pod("a-1", "a"))
	leaving := pod("a-0", "a")
	leaving.DeletionTimestamp = ending.DeletionTimestamp
	w.see(leaving)
	w.gone(leaving)
	if got := []int{w.Most("a"), w.Most("b"), w.Most("c"), w.Made()}; !cmp.Equal(got, []int{2, 1, 0, 6}) {
		t.Errorf("Most() of a, b and c, and Made() = %v, want [2 1 0 6]", got)
	}
	if diff := cmp.Diff([]string{"a-1", "a-3"}, w.Deleted("a")); diff != "" {
		t.Errorf("Deleted() (-want +got):\n%s", diff)
	}
}
