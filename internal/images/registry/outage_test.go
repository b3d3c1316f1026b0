// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"testing"
	"time"

	"github.com/krmfn/krmfn/internal/images/registry"
)

func TestOutageOfAKnownTag(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.resolves("sha256:one", 0, 1)
		b.source.set("", errDown, 0)
		time.Sleep(5 * time.Minute)
		b.resolves("sha256:one", 0, 1)
		b.logged("registry cannot be asked, using the cached digest")
		b.resolves("sha256:one", 0, 0)
		time.Sleep(10*time.Second - time.Nanosecond)
		b.resolves("sha256:one", 0, 0)
		time.Sleep(time.Nanosecond)
		b.resolves("sha256:one", 0, 1)
		// In a long outage with calls, the tag is refreshed at intervals, the outage is logged once, and no caller waits.
		b.source.set("", errDown, time.Minute)
		for range 100 {
			time.Sleep(2 * time.Minute)
			b.resolves("sha256:one", 0, 1)
		}
		b.logged()
		b.source.set("sha256:two", nil, 0)
		time.Sleep(2 * time.Minute)
		b.resolves("sha256:one", 0, 1)
		b.resolves("sha256:two", 0, 0)
		b.logged("image tag has moved")
	})
}

func TestOutageOfAnOldTag(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.resolves("sha256:one", 0, 1)
		b.source.set("", errDown, 30*time.Second)
		time.Sleep(time.Hour)
		// Only the first caller waits.
		b.resolves("sha256:one", 2*time.Second, 1)
		b.resolves("sha256:one", 0, 0)
		time.Sleep(time.Minute)
		b.source.set("sha256:one", nil, 0)
		b.resolves("sha256:one", 0, 1)
		b.resolves("sha256:one", 0, 0)
		b.logged("registry cannot be asked, using the cached digest", "registry answers again")
		// Hours after an outage, a caller waits for the refresh again.
		b.source.set("", errDown, 0)
		time.Sleep(time.Hour)
		b.resolves("sha256:one", 0, 1)
		b.source.set("sha256:two", nil, time.Second)
		time.Sleep(time.Hour)
		b.resolves("sha256:two", time.Second, 1)
	})
}

func TestUnauthorizedKeepsAKnownTag(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.resolves("sha256:one", 0, 1)
		b.source.set("", &registry.UnauthorizedError{Reason: "no"}, 0)
		time.Sleep(time.Hour)
		b.resolves("sha256:one", 0, 1)
	})
}

func TestDeletedTag(t *testing.T) {
	t.Parallel()
	for name, age := range map[string]time.Duration{"in the background": 5 * time.Minute, "while the caller waits": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timed(t, func(b bench) {
				b.resolves("sha256:one", 0, 1)
				b.source.set("", &registry.NotFoundError{Reason: "gone"}, 0)
				time.Sleep(age)
				if age < time.Hour {
					b.resolves("sha256:one", 0, 1)
				}
				for range 2 {
					if got, err := b.Resolve(b.Context(), ref); kind(err) != "not found" {
						b.Errorf("Resolve() = %q, %v; want a NotFoundError", got, err)
					}
				}
				b.logged("image tag was deleted")
				b.source.count()
				b.source.set("sha256:new", nil, 0)
				time.Sleep(time.Second)
				b.resolves("sha256:new", 0, 1)
			})
		})
	}
}

func TestFailureOfAnUnknownTag(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.source.set("", errDown, 0)
		for range 10 {
			if _, err := b.Resolve(b.Context(), ref); !errors.Is(err, errDown) {
				b.Errorf("Resolve() = %v, want %v", err, errDown)
			}
			time.Sleep(time.Second / 20)
		}
		if asked := b.source.count(); asked != 1 {
			b.Errorf("%d requests in half a second of failures, want 1", asked)
		}
		b.logged()
		b.source.set("sha256:one", nil, 0)
		time.Sleep(time.Second / 2)
		b.resolves("sha256:one", 0, 1)
	})
}

func TestSeedOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.source.set("", errDown, 0)
		b.Seed(ref, "sha256:seed")
		time.Sleep(time.Hour)
		b.resolves("sha256:seed", 0, 1)
		b.resolves("sha256:seed", 0, 0)
	})
}
