// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

func TestReady(t *testing.T) {
	t.Parallel()
	node := func(name string, ready corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
		}
	}
	dns := func(available int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "coredns", Namespace: "kube-system"},
			Status:     appsv1.DeploymentStatus{AvailableReplicas: available},
		}
	}
	a, b := node("a", corev1.ConditionTrue), node("b", corev1.ConditionTrue)
	for name, test := range map[string]struct {
		objects []runtime.Object
		want    string // substring of the error; empty means ready
	}{
		"all":           {[]runtime.Object{a, b, dns(1)}, ""},
		"node missing":  {[]runtime.Object{a, dns(1)}, "1 nodes, want 2"},
		"node unready":  {[]runtime.Object{a, node("b", corev1.ConditionUnknown), dns(1)}, "node b is not ready"},
		"no DNS":        {[]runtime.Object{a, b}, "not found"},
		"DNS not ready": {[]runtime.Object{a, b, dns(0)}, "DNS is not ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := ready(t.Context(), fake.NewClientset(test.objects...), 2)
			if test.want == "" && err != nil {
				t.Errorf("ready() = %v, want nil", err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("ready() = %v, want it to contain %q", err, test.want)
			}
		})
	}
}

func TestAnnouncedOnlyByItsOwnConfiguration(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	if err := announced(t.Context(), client, "image:1"); !errors.Is(err, errFinal) {
		t.Errorf("announced() of an incomplete cluster = %v, want errFinal", err)
	}
	for range 2 { // The second call updates the existing ConfigMap.
		if err := announce(t.Context(), client, "172.18.0.1:5000", "image:1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := announced(t.Context(), client, "image:1"); err != nil {
		t.Errorf("announced() of a complete cluster = %v, want nil", err)
	}
	if err := announced(t.Context(), client, "image:2"); !errors.Is(err, errFinal) {
		t.Errorf("announced() with another image = %v, want errFinal", err)
	}
}

func TestEventually(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		err := eventually(t.Context(), time.Minute, func(context.Context) error {
			if tries++; tries < 4 {
				return errors.New("not yet")
			}
			return nil
		})
		if err != nil || tries != 4 {
			t.Errorf("eventually() = %v after %d tries, want nil after 4", err, tries)
		}
		err = eventually(t.Context(), time.Minute, func(ctx context.Context) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errors.New("the reason")
		})
		if err == nil || err.Error() != "the reason" {
			t.Errorf("eventually() after the timeout = %v, want the check's last error", err)
		}
		begin := time.Now()
		err = eventually(t.Context(), time.Minute, func(context.Context) error { return errFinal })
		if !errors.Is(err, errFinal) || time.Since(begin) > 0 {
			t.Errorf("eventually() = %v after %s, want errFinal at once", err, time.Since(begin))
		}
	})
}
