// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/services/cluster/injection"
)

// sameHash returns two references whose pools have the same hash.
func sameHash(r *replica) (string, string) {
	seen := map[string]string{}
	for i := 0; ; i++ {
		reference := fmt.Sprintf("r.io/fn:v%d", i)
		hash := r.poolOf(reference, digest("a")).Hash()
		if other, found := seen[hash]; found {
			return other, reference
		}
		seen[hash] = reference
	}
}

// Functions whose pools have the same hash run in pods of their own.
func TestPoolsWithTheSameHash(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		first, second := sameHash(r)
		for _, reference := range []string{first, second, first} {
			pod, err := r.callWithin(t.Context(), reference, digest("a"))
			if want := r.poolOf(reference, digest("a")).Of(1); err != nil || pod != want {
				t.Errorf("the call of %s ran in pod %s, error %v; want %s", reference, pod, err, want)
			}
		}
	})
}

// A replica that starts takes the digest of a tag's youngest pod, however their names are ordered.
func TestNewReplicaKnowsTheDigestOfTheYoungestPod(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		for _, d := range []string{digest("a"), digest("b")} {
			for i := range 20 {
				if _, err := r.callWithin(t.Context(), numbered(i), d); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(10 * time.Minute)
		}
		next := start(t, c)
		for i := range 20 {
			if got := next.images.seeded[numbered(i)]; got != digest("b") {
				t.Errorf("%s has digest %s, want that of its youngest pod", numbered(i), got)
			}
		}
	})
}

// Replicas with different templates leave each other's pods alone while those are used.
func TestReplicasWithDifferentTemplatesKeepTheirPods(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		a := start(t, c, func(config *Config) { config.Templates = newTemplates(c, injection.ImageVolume) })
		b := start(t, c)
		for i := range 30 * 6 {
			a.mustCall(digest("a"))
			b.mustCall(digest("a"))
			time.Sleep(10 * time.Second)
			if i%6 == 5 {
				a.rescan()
				b.rescan()
			}
		}
		if n := c.Requests("create", "pods"); n != 2 {
			t.Errorf("%d pods were created in half an hour, want 2", n)
		}
		// Those of a replica that has gone are deleted.
		b.stop()
		for range 4 {
			time.Sleep(time.Minute)
			a.rescan()
			a.mustCall(digest("a"))
		}
		synctest.Wait()
		wantPods(t, c, a.poolOf(fn, digest("a")).Of(1))
	})
}
