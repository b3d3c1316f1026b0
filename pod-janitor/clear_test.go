// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// --all fails if it is interrupted before everything is deleted.
func TestInterruptWithAll(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		objects []metav1.Object
		// stops adds Deployments to stop.
		stops bool
		// at is the request during which the janitor is interrupted; "" means after 10 seconds.
		at   string
		want string
	}{
		"Deployments are ending":    {objects: many(3), stops: true, want: "interrupted before the objects of namespace fns were listed: run it again"},
		"while objects are listed":  {objects: many(3), at: "list services", want: "interrupted before the objects of namespace fns were listed: run it again"},
		"between two deletions":     {objects: many(3), at: "delete pods pod-0001", want: "interrupted with 3 objects left in namespace fns: run it again"},
		"with something stuck":      {objects: everything()[2:3], want: "interrupted with 1 object left in namespace fns: run it again"},
		"no objects left":           {objects: many(3)},
		"no objects from the start": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				args := "--all --grace=40s"
				if test.stops {
					args = stopArgs
				}
				h := newHarness(t, args, test.objects...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				h.server.Before(func(r request) error {
					if r.String() != test.at {
						return nil
					}
					cancel()
					if r.Verb == "list" {
						return ctx.Err()
					}
					return nil
				})
				there := deployments{"function-runner": {ends: 20 * time.Second}, "image-warmer": {}}
				h.server.Client.PrependReactor("*", "*", there.react)
				time.AfterFunc(10*time.Second, cancel)
				begin := time.Now()
				got := ""
				if err := h.Run(ctx); err != nil {
					got = err.Error()
				}
				if got != test.want {
					t.Errorf("Run() = %q, want %q", got, test.want)
				}
				if took := time.Since(begin); took > 11*time.Second {
					t.Errorf("Run() took %v after the interrupt", took)
				}
			})
		})
	}
}
