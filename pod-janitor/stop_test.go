// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
)

const stopArgs = "--all --grace=40s --stop-deployment=porch-system/function-runner --stop-deployment=porch-system/image-warmer --stop-timeout=1m --timeout=5m"

// deployment simulates a Deployment whose pod ends some time after the Deployment is scaled to 0.
type deployment struct {
	missing bool
	ends    time.Duration
	// stays is the phase of the pod after it has ended, if the kubelet does not remove it.
	stays  corev1.PodPhase
	scaled time.Time
	patch  string
}

func (d *deployment) pods(labels map[string]string) *corev1.PodList {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	if !d.scaled.IsZero() && time.Since(d.scaled) >= d.ends {
		pod.Status.Phase = d.stays
	}
	if pod.Status.Phase == "" {
		return &corev1.PodList{}
	}
	return &corev1.PodList{Items: []corev1.Pod{pod}}
}

// deployments are the Deployments of porch-system, by name. The name is also the label of their pods.
type deployments map[string]*deployment

func (all deployments) react(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetNamespace() != "porch-system" {
		return false, nil, nil
	}
	switch action := action.(type) {
	case clienttesting.GetActionImpl:
		if all[action.Name].missing {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, action.Name)
		}
		return true, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": action.Name}}}}, nil
	case clienttesting.PatchActionImpl:
		d := all[action.Name]
		d.scaled, d.patch = time.Now(), action.GetSubresource()+" "+string(action.Patch)
		return true, &appsv1.Deployment{}, nil
	case clienttesting.ListActionImpl:
		name, _ := action.ListRestrictions.Labels.RequiresExactMatch("app")
		if d := all[name]; d != nil {
			return true, d.pods(map[string]string{"app": name, "app.kubernetes.io/name": "krmfn"}), nil
		}
		return true, nil, apierrors.NewBadRequest("pods are listed by " + action.ListRestrictions.Labels.String())
	}
	return false, nil, nil
}

// most returns the time until all pods have ended, at most the timeout.
func (all deployments) most(timeout time.Duration) time.Duration {
	most := time.Duration(0)
	for _, d := range all {
		if !d.missing {
			most = max(most, d.ends)
		}
	}
	return min(most, timeout)
}

func TestAllStopsDeploymentsFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		runner, warmer deployment
		least, most    time.Duration
	}{
		"idle":                  {runner: deployment{ends: 5 * time.Second}, least: 5 * time.Second, most: 6 * time.Second},
		"busy":                  {runner: deployment{ends: 30 * time.Second}, warmer: deployment{ends: time.Second}, least: 30 * time.Second, most: 31 * time.Second},
		"warmer is slow":        {warmer: deployment{ends: 30 * time.Second}, least: 30 * time.Second, most: 31 * time.Second},
		"ended, not removed":    {runner: deployment{ends: time.Second, stays: corev1.PodSucceeded}, least: time.Second, most: 2 * time.Second},
		"killed, not removed":   {runner: deployment{ends: time.Second}, warmer: deployment{stays: corev1.PodFailed}, least: time.Second, most: 2 * time.Second},
		"unknown phase":         {runner: deployment{stays: corev1.PodUnknown}, least: 100 * time.Second, most: 110 * time.Second},
		"on a lost node":        {runner: deployment{ends: time.Hour}, least: 100 * time.Second, most: 110 * time.Second},
		"warmer on a lost node": {warmer: deployment{ends: time.Hour}, least: 100 * time.Second, most: 110 * time.Second},
		"does not exist":        {runner: deployment{missing: true}, least: 40 * time.Second, most: 50 * time.Second},
		"warmer does not exist": {runner: deployment{ends: 5 * time.Second}, warmer: deployment{missing: true}, least: 45 * time.Second, most: 55 * time.Second},
		"neither exists":        {runner: deployment{missing: true}, warmer: deployment{missing: true}, least: 40 * time.Second, most: 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				objects := slices.DeleteFunc(everything(), func(o metav1.Object) bool { return o.GetName() == "stuck" })
				h := newHarness(t, stopArgs, objects...)
				there := deployments{"function-runner": &test.runner, "image-warmer": &test.warmer}
				h.server.Client.PrependReactor("*", "*", there.react)
				begin := time.Now()
				h.server.Before(func(r request) error {
					if r.Verb == "delete" && time.Since(begin) < there.most(time.Minute) {
						t.Errorf("%s before all workloads that create objects have ended", r)
					}
					return nil
				})
				if err := h.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took < test.least || took > test.most {
					t.Errorf("Run() took %v, want %v to %v", took, test.least, test.most)
				}
				if diff := cmp.Diff([]string{"pods foreign", "services other"}, h.server.Names()); diff != "" {
					t.Errorf("remaining objects (-want +got):\n%s", diff)
				}
				for name, d := range there {
					if want := `scale {"spec":{"replicas":0}}`; !d.missing && (d.patch != want || d.scaled.After(begin)) {
						t.Errorf("Deployment %s: patch %s after %v, want %s immediately", name, d.patch, d.scaled.Sub(begin), want)
					}
				}
			})
		})
	}
}

// If a Deployment cannot be scaled to zero, the janitor deletes nothing, because its pods would create the objects again.
func TestAllWithoutPermissionToScale(t *testing.T) {
	t.Parallel()
	h := newHarness(t, stopArgs, everything()...)
	before := h.server.Names()
	h.server.Client.PrependReactor("*", "*", deployments{"function-runner": {}, "image-warmer": {}}.react)
	h.server.Client.PrependReactor("patch", "deployments", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch, _ := action.(clienttesting.PatchActionImpl)
		return patch.Name == "image-warmer", nil, apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, patch.Name, nil)
	})
	if err := h.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "scale Deployment porch-system/image-warmer to 0 (--stop-deployment)") {
		t.Errorf("Run() = %v", err)
	}
	if diff := cmp.Diff(before, h.server.Names()); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
}

// Draining function runners need their function pods: nothing is deleted before they have ended.
func TestAllAwaitsPods(t *testing.T) {
	t.Parallel()
	const args = "--all --grace=40s --await-pods=porch-system/app=function-runner,app.kubernetes.io/name=krmfn --stop-timeout=1m --timeout=5m"
	for name, test := range map[string]struct {
		ends time.Duration
		want string
	}{
		"gone":        {},
		"draining":    {ends: 30 * time.Second},
		"not deleted": {ends: time.Hour, want: "1 of the pods porch-system/app=function-runner,app.kubernetes.io/name=krmfn (--await-pods) still run after 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, args, slices.DeleteFunc(everything(), func(o metav1.Object) bool { return o.GetName() == "stuck" })...)
				before, begin := h.server.Names(), time.Now()
				draining := deployments{"function-runner": {scaled: begin, ends: test.ends}}
				h.server.Client.PrependReactor("*", "*", draining.react)
				h.server.Before(func(r request) error {
					if r.Verb == "delete" && time.Since(begin) < test.ends {
						t.Errorf("%s after %v, want it after the pods have ended, which takes %v", r, time.Since(begin), test.ends)
					}
					return nil
				})
				err := h.Run(t.Context())
				if test.want != "" {
					if err == nil || !strings.Contains(err.Error(), test.want) {
						t.Errorf("Run() = %v, want an error with %q", err, test.want)
					}
					if diff := cmp.Diff(before, h.server.Names()); diff != "" {
						t.Errorf("objects (-before +after):\n%s", diff)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took < test.ends || took > test.ends+2*time.Second {
					t.Errorf("Run() took %v, want %v to %v", took, test.ends, test.ends+2*time.Second)
				}
				if diff := cmp.Diff([]string{"pods foreign", "services other"}, h.server.Names()); diff != "" {
					t.Errorf("remaining objects (-want +got):\n%s", diff)
				}
			})
		})
	}
}
