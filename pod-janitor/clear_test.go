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

// A janitor that is told to end before everything is deleted has not done what --all is for: whoever started it starts it again.
func TestAllIsToldToEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		objects []metav1.Object
		// stops has Deployments stopped first.
		stops bool
		// at is the request at which the janitor is told to end; "" means after 10 seconds.
		at   string
		want string
	}{
		"Deployments are ending":   {objects: many(3), stops: true, want: "told to end before the objects of namespace fns could be listed: run it again"},
		"while objects are listed": {objects: many(3), at: "list services", want: "told to end before the objects of namespace fns could be listed: run it again"},
		"between two deletions":    {objects: many(3), at: "delete pods pod-0001", want: "told to end with 3 objects left in namespace fns: run it again"},
		"with something stuck":     {objects: everything()[2:3], want: "told to end with 1 object left in namespace fns: run it again"},
		"nothing is left":          {objects: many(3)},
		"there has been nothing":   {},
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
					t.Errorf("got error %q, want %q", got, test.want)
				}
				if took := time.Since(begin); took > 11*time.Second {
					t.Errorf("it took %v to end", took)
				}
			})
		})
	}
}
