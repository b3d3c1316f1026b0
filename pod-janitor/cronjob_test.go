// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

const suspendArgs = "--all --grace=40s --stop-cronjob=porch-system/image-warmer --stop-timeout=1m --timeout=5m"

// cronJob simulates a CronJob whose Job ends some time after its deletion, as with foreground deletion.
type cronJob struct {
	missing, idle bool
	ends          time.Duration
	patch         string
	deleted       time.Time
}

func (c *cronJob) react(action clienttesting.Action) (bool, runtime.Object, error) {
	switch action := action.(type) {
	case clienttesting.PatchActionImpl:
		if c.missing {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "cronjobs"}, action.Name)
		}
		c.patch = action.Namespace + "/" + action.Name + " " + string(action.Patch)
		return true, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: action.Namespace, Name: action.Name, UID: "mine"}}, nil
	case clienttesting.ListActionImpl:
		return true, c.jobs(), nil
	case clienttesting.DeleteActionImpl:
		if o := action.DeleteOptions; action.Name != "image-warmer-1" || *o.Preconditions.UID != "job" || *o.PropagationPolicy != metav1.DeletePropagationForeground {
			return true, nil, apierrors.NewBadRequest("this Job is not to be deleted, or not so")
		}
		c.deleted = time.Now()
		return true, nil, nil
	}
	return false, nil, nil
}

// jobs returns the CronJob's Job, and one of another CronJob.
func (c *cronJob) jobs() *metav1.List {
	job := func(name string, owner types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "job", OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}}}
	}
	list := &metav1.List{Items: []runtime.RawExtension{{Object: job("pod-janitor-1", "theirs")}}}
	if c.idle || !c.deleted.IsZero() && time.Since(c.deleted) >= c.ends {
		return list
	}
	mine := job("image-warmer-1", "mine")
	if !c.deleted.IsZero() {
		mine.DeletionTimestamp = &metav1.Time{Time: c.deleted}
	}
	list.Items = append(list.Items, runtime.RawExtension{Object: mine})
	return list
}

func TestAllStopsCronJobsFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cronJob
		least, most time.Duration
	}{
		"between two runs": {cronJob{idle: true}, 0, 2 * time.Second},
		"during a run":     {cronJob{ends: 30 * time.Second}, 30 * time.Second, 32 * time.Second},
		"on a lost node":   {cronJob{ends: time.Hour}, 100 * time.Second, 110 * time.Second},
		"does not exist":   {cronJob{missing: true}, 40 * time.Second, 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, suspendArgs, pod("a", time.Hour))
				h.server.Metadata.PrependReactor("*", "cronjobs", test.react)
				h.server.Metadata.PrependReactor("*", "jobs", test.react)
				begin := time.Now()
				h.server.Before(func(r request) error {
					if r.Verb == "delete" && !test.idle && !test.missing && time.Since(begin) < min(test.ends, time.Minute) {
						t.Errorf("%s before the run has ended", r)
					}
					return nil
				})
				if err := h.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took < test.least || took > test.most {
					t.Errorf("Run() took %v, want %v to %v", took, test.least, test.most)
				}
				if left := h.server.Names(); len(left) > 0 {
					t.Errorf("remaining objects = %q", left)
				}
				if want := `porch-system/image-warmer {"spec":{"suspend":true}}`; !test.missing && test.patch != want {
					t.Errorf("patch (-want +got):\n%s", cmp.Diff(want, test.patch))
				}
			})
		})
	}
}

// If the CronJob cannot be suspended, the janitor deletes nothing, because the CronJob would create the objects again.
func TestAllWithoutPermissionToSuspend(t *testing.T) {
	t.Parallel()
	for resource, want := range map[string]string{
		"cronjobs": "suspend CronJob porch-system/image-warmer (--stop-cronjob)",
		"jobs":     "wait for the pods of CronJob porch-system/image-warmer (--stop-cronjob)",
	} {
		h := newHarness(t, suspendArgs, pod("a", time.Hour))
		h.server.Metadata.PrependReactor("*", "cronjobs", new(cronJob).react)
		h.server.Metadata.PrependReactor("*", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "image-warmer", nil)
		})
		if err := h.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Run() = %v", resource, err)
		}
		if left := h.server.Names(); len(left) != 1 {
			t.Errorf("%s: remaining objects = %q", resource, left)
		}
	}
}
