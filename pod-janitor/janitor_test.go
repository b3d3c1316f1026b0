// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// everything returns one object for each decision.
func everything() []metav1.Object {
	const day = 24 * time.Hour
	used := pod("used", day)
	used.Annotations = pullSecret(time.Minute).Annotations
	stuck := pod("stuck", day)
	stuck.DeletionTimestamp, stuck.Finalizers = new(metav1.NewTime(time.Now().Add(-time.Hour))), []string{"x.io/y"}
	return []metav1.Object{
		pod("expired", day), used, stuck, foreign("foreign"), pod("young", time.Minute),
		service("forgotten", "gone", day), service("used", "used", day), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "other"}},
		pullSecret(25 * time.Hour),
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, "", everything()...)
		if err := h.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{"pods foreign", "pods stuck", "pods used", "pods young", "services other", "services used"}
		if diff := cmp.Diff(want, h.server.Names()); diff != "" {
			t.Errorf("remaining objects (-want +got):\n%s", diff)
		}
		want = []string{"Pod expired: deleted", "Pod stuck: left", "Service forgotten: deleted", "Secret auth-secret: deleted"}
		if diff := cmp.Diff(want, h.actions(t)); diff != "" {
			t.Error(diff)
		}
		n, notes := h.deletions()
		want = []string{"deleted 1 Pod (expired 1), 1 Service (orphaned 1), 1 Secret (unused 1) in namespace fns"}
		if diff := cmp.Diff(want, notes); diff != "" || n != 3 {
			t.Errorf("deletions = %d, events (-want +got):\n%s", n, diff)
		}
		if strings.Count(h.log.String(), "sweep done") != 1 || !strings.Contains(h.log.String(), "pods=4 services=2 secrets=1 deleted=3") {
			t.Error(h.log.String())
		}
		if err := h.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, notes := h.deletions(); n != 0 || notes != nil {
			t.Errorf("second sweep: %d deletions, events %q, want none", n, notes)
		}
	})
}

// Pods may be used while the API server sends the list. The decision therefore uses the time before the request.
func TestSlowList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttls = time.Hour + 5*time.Minute
		h := newHarness(t, "", pod("a", ttls-30*time.Second))
		h.server.Before(func(r request) error {
			if r.Verb == "list" {
				time.Sleep(time.Minute)
			}
			return nil
		})
		for sweep, want := range []int{1, 0} {
			if err := h.Run(t.Context()); err != nil || len(h.server.Names()) != want {
				t.Errorf("sweep %d: Run() = %v, remaining objects %v", sweep, err, h.server.Names())
			}
		}
	})
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, "--dry-run", everything()...)
		before := h.server.Names()
		if err := h.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range h.server.Requests() {
			if r.Verb != "get" && r.Verb != "list" {
				t.Errorf("a dry run sent %v", r)
			}
		}
		want := []string{"Pod expired: would delete", "Pod stuck: left", "Service forgotten: would delete", "Secret auth-secret: would delete"}
		if diff := cmp.Diff(want, h.actions(t)) + cmp.Diff(before, h.server.Names()); diff != "" {
			t.Error(diff)
		}
	})
}

// If a list fails, nothing is deleted.
func TestListErrors(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"get secrets auth-secret", "list services", "list pods", "continue pods"} {
		h := newHarness(t, "", append(everything(), many(500)...)...)
		h.server.Before(func(r request) error {
			if r.String() == asked {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", errors.New("no"))
			}
			return nil
		})
		err := h.Run(t.Context())
		if n, notes := h.deletions(); err == nil || !apierrors.IsForbidden(err) || n != 0 || notes != nil || h.out.Len() != 0 {
			t.Errorf("%s fails: Run() = %v, %d deletions, events %q", asked, err, n, notes)
		}
	}
}

// Failed deletions are reported and make the sweep fail. The other objects are deleted.
func TestFailedDeletions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, "", many(6)...)
		h.server.Before(func(r request) error {
			x := schema.GroupResource{Resource: "pods"}
			switch r.String() {
			case "delete pods pod-0000", "delete pods pod-0003":
				return apierrors.NewForbidden(x, r.Name, errors.New("no"))
			case "delete pods pod-0001":
				return apierrors.NewNotFound(x, r.Name)
			case "delete pods pod-0002":
				return apierrors.NewConflict(x, r.Name, errors.New("changed"))
			case "create events":
				return errors.New("no events")
			}
			return nil
		})
		err := h.Run(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "2 deletions failed, first error: delete Pod fns/pod-0000: ") || !apierrors.IsForbidden(err) {
			t.Error(err)
		}
		want := []string{
			"Pod pod-0000: failed", "Pod pod-0001: gone", "Pod pod-0002: used meanwhile", "Pod pod-0003: failed",
			"Pod pod-0004: deleted", "Pod pod-0005: deleted",
		}
		if diff := cmp.Diff(want, h.actions(t)); diff != "" {
			t.Error(diff)
		}
	})
}

// A sweep succeeds if the event fails, and if an object changes before its deletion.
func TestSweepSucceedsDespiteChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, "", many(3)...)
		h.server.Before(func(r request) error {
			if r.Verb == "create" {
				return errors.New("no events")
			}
			if r.String() == "delete pods pod-0000" {
				h.server.Put(pod("pod-0001", 24*time.Hour))
			}
			return nil
		})
		if err := h.Run(t.Context()); err != nil {
			t.Error(err)
		}
		want := []string{"Pod pod-0000: deleted", "Pod pod-0001: used meanwhile", "Pod pod-0002: deleted"}
		if diff := cmp.Diff(want, h.actions(t)); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(h.log.String(), "no events") {
			t.Error(h.log.String())
		}
	})
}

func TestMaxDeletions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dry := newHarness(t, "--dry-run", many(maxDeletions+1)...)
		if err := dry.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := dry.count(t, "would delete"); got != maxDeletions {
			t.Errorf("objects that a dry run would delete = %d, want %d", got, maxDeletions)
		}
		h := newHarness(t, "", many(2*maxDeletions+100)...)
		for _, want := range []int{maxDeletions + 100, 100, 0} {
			if err := h.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := len(h.server.Names()); got != want {
				t.Errorf("remaining pods = %d, want %d", got, want)
			}
			if got := h.count(t, "next sweep"); got != want {
				t.Errorf("pods left to the next sweep = %d, want %d", got, want)
			}
		}
	})
}

// A sweep ends at its timeout, even if the API server is slow or many objects are left to delete.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		each  time.Duration
		least int
	}{"slow": {7 * time.Second, 8}, "many": {0, 299}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, "--timeout=1m --qps=5", many(400)...)
				h.server.Before(func(r request) error {
					if r.Verb == "delete" {
						time.Sleep(tc.each)
					}
					return nil
				})
				begin := time.Now()
				err := h.Run(t.Context())
				if took := time.Since(begin); took > time.Minute+tc.each {
					t.Errorf("Run() took %v", took)
				}
				left := len(h.server.Names())
				if deleted := 400 - left; deleted < tc.least || deleted > tc.least+2 {
					t.Errorf("%d deletions", deleted)
				}
				if err == nil || !strings.Contains(err.Error(), "--timeout") || h.count(t, "next sweep") != left {
					t.Errorf("remaining pods = %d, Run() = %v", left, err)
				}
			})
		})
	}
}

// An interrupted janitor ends between two deletions, without an error.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, "", many(10)...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h.server.Before(func(r request) error {
			if r.Name == "pod-0002" {
				cancel()
			}
			return nil
		})
		if err := h.Run(ctx); err != nil {
			t.Error(err)
		}
		// The deletion in flight is counted.
		if _, notes := h.deletions(); len(notes) != 1 || !strings.Contains(notes[0], "deleted 3 Pods") {
			t.Errorf("events = %q", notes)
		}
		if left := h.server.Names(); len(left) != 7 || left[0] != "pods pod-0003" || h.count(t, "next sweep") != 7 {
			t.Errorf("remaining objects = %v", left)
		}
	})
}

// With an interval, sweeps continue after a failed one, until ctx ends.
func TestInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, "--interval=1m", many(1)...)
		lists := 0
		h.server.Before(func(r request) error {
			if r.String() != "list pods" {
				return nil
			}
			lists++
			if lists == 1 || lists == 3 {
				return errors.New("connection refused")
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+30*time.Second)
		defer cancel()
		if err := h.Run(ctx); err != nil {
			t.Error(err)
		}
		if lists != 5 || len(h.server.Names()) != 0 {
			t.Errorf("%d sweeps, remaining objects %v", lists, h.server.Names())
		}
		if n := strings.Count(h.log.String(), "the sweep failed"); n != 2 {
			t.Errorf("failed sweeps = %d, log:\n%s", n, h.log.String())
		}
	})
}

// With an interval, an interrupt is not an error, during any request.
func TestInterruptWithInterval(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"list services", "list pods", "delete pods pod-0001"} {
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t, "--interval=1m", many(3)...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h.server.Before(func(r request) error {
				if r.String() != asked {
					return nil
				}
				cancel()
				if r.Verb == "list" {
					return ctx.Err()
				}
				return nil
			})
			if err := h.Run(ctx); err != nil || strings.Contains(h.log.String(), "the sweep failed") {
				t.Errorf("interrupt during %s: Run() = %v, log:\n%s", asked, err, h.log.String())
			}
		})
	}
}

// --all deletes all objects of krmfn, including those that a function runner creates during its shutdown, and no other objects.
func TestAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		objects := everything()
		objects = slices.DeleteFunc(objects, func(o metav1.Object) bool { return o.GetName() == "stuck" })
		h := newHarness(t, "--all --grace=40s", objects...)
		begin := time.Now()
		time.AfterFunc(30*time.Second, func() { h.server.Put(pod("late", 0)) })
		if err := h.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"pods foreign", "services other"}, h.server.Names()); diff != "" {
			t.Errorf("remaining objects (-want +got):\n%s", diff)
		}
		if took := time.Since(begin); took < 70*time.Second || took > 80*time.Second {
			t.Errorf("Run() took %v, want the grace period after the last object", took)
		}
	})
}

// --all fails at its timeout if function runners continue to create pods.
func TestAllTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, "--all --timeout=1m", everything()...)
		if err := h.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "--timeout") || !strings.Contains(err.Error(), "with 1 object left") {
			t.Errorf("Run() = %v", err)
		}
	})
}

// If no objects are left, --all succeeds, even if --timeout passes before the grace period.
func TestAllWithoutObjects(t *testing.T) {
	t.Parallel()
	for name, objects := range map[string][]metav1.Object{
		"empty":             nil,
		"objects of others": {foreign("foreign")},
		"emptied":           {pod("old", time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, "--all --grace=30s --timeout=8s", objects...)
				begin := time.Now()
				if err := h.Run(t.Context()); err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took > 8*time.Second {
					t.Errorf("Run() took %v", took)
				}
				if !strings.Contains(h.log.String(), "ended before --grace") {
					t.Errorf("log does not mention the grace period:\n%s", h.log.String())
				}
			})
		})
	}
}

// If the API server does not answer, --all fails.
func TestAllWithoutAPIServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, "--all --grace=30s --timeout=8s")
		h.server.Before(func(request) error {
			time.Sleep(8 * time.Second)
			return context.DeadlineExceeded
		})
		if err := h.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "--timeout") {
			t.Errorf("Run() = %v", err)
		}
	})
}
