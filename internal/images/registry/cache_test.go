// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/images/registry"
)

const ref = "r.io/team/fn:v1"

// bench is a cache in a synctest bubble.
type bench struct {
	*testing.T
	*registry.Cache
	source *source
	log    *log
}

// timed runs a test with a cache in a synctest bubble.
func timed(t *testing.T, test func(b bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := bench{T: t, source: &source{digest: "sha256:one"}, log: &log{}}
		b.Cache = registry.NewCache(t.Context(), b.source, registry.CacheOptions{Log: slog.New(b.log)})
		defer b.Close()
		test(b)
	})
}

// resolves checks the digest that Resolve returns, how long that takes, and the number of requests.
func (b bench) resolves(want string, after time.Duration, questions int) {
	b.Helper()
	begin := time.Now()
	got, err := b.Resolve(b.Context(), ref)
	took := time.Since(begin)
	synctest.Wait()
	if asked := b.source.count(); got != want || err != nil || took != after || asked != questions {
		b.Errorf("Resolve() = %q, %v after %s and %d requests; want %q after %s and %d", got, err, took, asked, want, after, questions)
	}
}

func (b bench) logged(want ...string) {
	b.Helper()
	if diff := cmp.Diff(want, b.log.taken()); diff != "" {
		b.Errorf("log: %s", diff)
	}
}

func TestTagIsCachedForTTL(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.resolves("sha256:one", 0, 1)
		b.source.set("sha256:two", nil, 0)
		time.Sleep(5*time.Minute - time.Nanosecond)
		b.resolves("sha256:one", 0, 0)
		time.Sleep(time.Nanosecond)
		// The digest is refreshed in the background.
		b.resolves("sha256:one", 0, 1)
		b.resolves("sha256:two", 0, 0)
		b.logged("image tag has moved")
		b.source.set("sha256:three", nil, time.Second)
		time.Sleep(10 * time.Minute)
		// The digest is too old to be used without a refresh.
		b.resolves("sha256:three", time.Second, 1)
		b.resolves("sha256:three", 0, 0)
		b.logged("image tag has moved")
	})
}

func TestOneRefreshAtATime(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.resolves("sha256:one", 0, 1)
		b.source.set("sha256:two", nil, time.Second)
		time.Sleep(5 * time.Minute)
		b.resolves("sha256:one", 0, 1)
		b.resolves("sha256:one", 0, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		b.resolves("sha256:two", 0, 0)
	})
}

func TestSeed(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.Seed(ref, "sha256:seed")
		b.resolves("sha256:seed", 0, 1)
		b.resolves("sha256:one", 0, 0)
		b.Seed(ref, "sha256:older")
		b.resolves("sha256:one", 0, 0)
		b.Seed("r.io/x@"+digest, "sha256:other")
		if got, err := b.Resolve(b.Context(), "r.io/x@"+digest); got != digest || err != nil {
			b.Errorf("Resolve() of a digest = %q, %v", got, err)
		}
	})
}

func TestImages(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		for _, tag := range []string{"v1", "latest", "v1"} {
			got, err := b.Image(b.Context(), "r.io/team/fn:"+tag, digest)
			want := registry.Image{Reference: "r.io/team/fn:" + tag, Digest: digest, Command: []string{"/fn"}}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				b.Errorf("Image() = %v (-want +got):\n%s", err, diff)
			}
		}
		time.Sleep(1000 * time.Hour)
		_, _ = b.Image(b.Context(), ref, digest)
		if diff := cmp.Diff([]string{"r.io/team/fn@" + digest}, b.source.asked); diff != "" {
			b.Errorf("requests (-want +got):\n%s", diff)
		}
		// The same digest in another repository may need other credentials.
		_, _ = b.Image(b.Context(), "r.io/other/fn:v1", digest)
		if asked := b.source.count(); asked != 2 {
			b.Errorf("%d requests, want 2", asked)
		}
		for range 3 {
			if _, err := b.Image(b.Context(), "r.io/panics:v1", digest); err == nil || !strings.Contains(err.Error(), "panicked: out of") {
				b.Errorf("Image() = %v, want an error with the panic's value", err)
			}
		}
	})
}

// Known returns a cached image without blocking, and looks up others in the background.
func TestKnown(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.source.set(digest, nil, time.Second)
		for _, want := range []bool{false, false, true} {
			begin := time.Now()
			got, known := b.Known(ref, digest)
			if known != want || known != (got.Reference == ref && got.Digest == digest) || time.Since(begin) > 0 {
				b.Errorf("Known() = %+v, %v after %v; want %v at once", got, known, time.Since(begin), want)
			}
			time.Sleep(600 * time.Millisecond)
		}
		if n := b.source.count(); n != 1 {
			b.Errorf("%d requests, want 1", n)
		}
		b.Load(loaded("sha256:two"))
		if _, known := b.Known(ref, "sha256:two"); !known {
			b.Error("Known() of a loaded image = false, want true")
		}
		if n := b.source.count(); n > 0 {
			b.Errorf("%d requests, want 0", n)
		}
	})
}

func TestLeastRecentlyUsedTagsAreEvicted(t *testing.T) {
	t.Parallel()
	s := &source{digest: "sha256:one"}
	c := registry.NewCache(t.Context(), s, registry.CacheOptions{Size: 2})
	defer c.Close()
	for _, tag := range []string{"a", "b", "a", "c", "a", "b"} {
		if _, err := c.Resolve(t.Context(), "r.io/fn:"+tag); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"r.io/fn:a", "r.io/fn:b", "r.io/fn:c", "r.io/fn:b"}, s.asked); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidDigestNeedsNoRequest(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		if got, err := b.Resolve(b.Context(), "r.io/x@sha256:12"); err == nil {
			b.Errorf("Resolve() = %q, want an error", got)
		}
		if asked := b.source.count(); asked != 0 {
			b.Errorf("%d requests, want 0", asked)
		}
	})
}

// Cache, client and registry together: concurrent callers, a moved tag, an outage, a deleted tag.
func TestCacheOfARegistry(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	one := s.push(t, "v1", newImage(t, "", runs("/one")))
	c := registry.NewCache(t.Context(), s.client(registry.Options{}), registry.CacheOptions{TTL: 1, Patience: time.Minute, FailureTTL: 1})
	defer c.Close()
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			if got, err := c.Image(t.Context(), s.ref("v1"), one); err != nil || got.Command[0] != "/one" {
				t.Errorf("Image() = %+v, %v", got, err)
			}
		})
	}
	callers.Wait()
	if diff := cmp.Diff([]string{"GET", "GET manifests/sha256", "GET blobs/sha256"}, s.asked()); diff != "" {
		t.Errorf("requests of 20 callers (-want +got):\n%s", diff)
	}
	resolve := func(want string) {
		t.Helper()
		if got, err := c.Resolve(t.Context(), s.ref("v1")); err != nil || got != want {
			t.Errorf("Resolve() = %q, %v; want %q", got, err, want)
		}
	}
	resolve(one)
	two := s.push(t, "v1", newImage(t, "", runs("/two")))
	resolve(two)
	s.answer(always("/v2/", 404, "an ingress without its backend"))
	resolve(two)
	s.answer(always("/manifests/", 404, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"gone"}]}`))
	if got, err := c.Resolve(t.Context(), s.ref("v1")); kind(err) != "not found" {
		t.Errorf("Resolve() = %q, %v; want a NotFoundError", got, err)
	}
}

func BenchmarkResolve(b *testing.B) {
	c := registry.NewCache(b.Context(), &source{digest: digest}, registry.CacheOptions{})
	defer c.Close()
	for name, ref := range map[string]string{"tag": "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0", "digest": "r.io/fn@" + digest} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if _, err := c.Resolve(b.Context(), ref); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
