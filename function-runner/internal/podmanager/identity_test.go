// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/internal/cluster/injection"
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

// Functions whose pools have the same hash do not share pods.
func TestPoolsWithTheSameHash(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		first, second := sameHash(r)
		for _, reference := range []string{first, second, first} {
			pod, err := r.callWithin(t.Context(), reference, digest("a"))
			if want := r.poolOf(reference, digest("a")).Of(1); err != nil || pod != want {
				t.Errorf("call of %s = pod %s, error %v, want pod %s", reference, pod, err, want)
			}
		}
	})
}

// A replica that starts takes the digest of a tag from its youngest pod, in whatever order the pods are listed.
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
				t.Errorf("seeded digest of %s = %s, want %s, the digest of its youngest pod", numbered(i), got, digest("b"))
			}
		}
	})
}

// Replicas with different templates do not delete each other's pods while the pods are used.
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
			t.Errorf("pods created in half an hour = %d, want 2", n)
		}
		// The pods of a replica that has stopped are deleted.
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
