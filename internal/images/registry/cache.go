// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/krmfn/krmfn/internal/images/flight"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Source looks up images for a Cache. Client implements it. Both methods must be safe for concurrent use, and must return when their
// context ends.
type Source interface {
	Digest(ctx context.Context, ref string) (string, error)
	Image(ctx context.Context, ref, digest string) (Image, error)
}

// CacheOptions configure a Cache. Zero values mean the defaults.
type CacheOptions struct {
	// TTL is the time for which the digest of a tag is used without a lookup. After that, the digest is refreshed in the background.
	// After twice the TTL, a caller waits for the refresh. The default is 5 minutes.
	TTL time.Duration
	// Patience is the maximum time that a caller waits for a refresh. After that, it gets the known digest. The default is 2 seconds.
	Patience time.Duration
	// FailureTTL is the time for which the error of a failed lookup is returned again. The default is 1 second.
	FailureTTL time.Duration
	// Size is the maximum number of cached tags, and of cached images. The least recently used ones are evicted. The default, also for
	// negative values, is 1024.
	Size int
	// Log gets one line for each tag that moves or is deleted, and one for each outage of a registry per tag. Nil discards them.
	Log *slog.Logger
}

// Cache caches lookups of tags and images. It is safe for concurrent use.
type Cache struct {
	options CacheOptions
	source  Source
	start   time.Time
	tags    *lru.Cache[string, *tag]
	images  *lru.Cache[pinned, Image]
	digests *flight.Group[string, string]
	configs *flight.Group[pinned, Image]
	// loaded contains the images of the last Load. loading must be held to replace it.
	loaded  atomic.Pointer[known]
	loading sync.Mutex

	tagLookups, imageLookups counts
}

type tag struct {
	digest string
	// lookupTime is the time of the lookup, since the cache's start.
	lookupTime time.Duration
	// failed is the time, since the cache's start, when a refresh last failed or took longer than Patience. 0 means never.
	failed atomic.Int64
	// warned means that the outage has been logged.
	warned atomic.Bool
}

// pinned identifies an image by digest. What a registry says about it never changes.
type pinned struct{ repository, digest string }

// refreshInterval is the minimum interval between refreshes of a tag during an outage. With a short TTL, it is half the TTL.
const refreshInterval = 10 * time.Second

// NewCache returns an empty cache. Its background lookups end with the context or with Close.
func NewCache(ctx context.Context, source Source, options CacheOptions) *Cache {
	options.TTL = cmp.Or(options.TTL, 5*time.Minute)
	options.Patience = cmp.Or(options.Patience, 2*time.Second)
	options.FailureTTL = cmp.Or(options.FailureTTL, time.Second)
	if options.Size <= 0 {
		options.Size = 1024
	}
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	c := &Cache{
		options: options, source: source, start: time.Now().Add(-1),
		tags: newLRU[string, *tag](options.Size), images: newLRU[pinned, Image](options.Size),
	}
	c.loaded.Store(&known{})
	c.digests = flight.NewGroup(ctx, options.Size, options.FailureTTL, c.askDigest)
	c.configs = flight.NewGroup(ctx, options.Size, options.FailureTTL, c.askImage)
	return c
}

// Close cancels running lookups and waits for them. Cached tags and images can still be looked up.
func (c *Cache) Close() {
	c.digests.Close()
	c.configs.Close()
}

// Seed adds the digest of a tag that was learned elsewhere, for example from a running pod, unless the tag is cached. The cache serves
// it and refreshes it at its first use. Seed ignores references by digest.
func (c *Cache) Seed(ref, digest string) {
	if given, err := givenDigest(ref); given != "" || err != nil {
		return
	}
	c.tags.ContainsOrAdd(ref, c.seed(digest))
}

// seed returns a tag that must be refreshed at its next use.
func (c *Cache) seed(digest string) *tag {
	return &tag{digest: digest, lookupTime: c.now() - c.options.TTL}
}

// now returns the time since the cache's start. It uses the monotonic clock and is always positive.
func (c *Cache) now() time.Duration { return time.Since(c.start) }

// Resolve returns the digest of a reference: the one in the reference or, for a tag, the cached or looked-up one. If the registry is
// unavailable, it returns the cached digest, however old. For a cached tag, Resolve does not block, except for the first time after
// twice the TTL: then it blocks for at most CacheOptions.Patience.
//
// Errors are *NotFoundError, even for a cached tag if the registry reports that it was deleted; *UnauthorizedError; the context's
// cause; and other errors of the source, which may be temporary.
func (c *Cache) Resolve(ctx context.Context, ref string) (string, error) {
	if digest, err := givenDigest(ref); digest != "" || err != nil {
		return digest, err
	}
	digest, how, err := c.resolve(ctx, ref)
	c.tagLookups.add(how, err)
	return digest, err
}

func (c *Cache) resolve(ctx context.Context, ref string) (string, result, error) {
	known, ok := c.known(ref)
	if !ok {
		digest, err := c.digests.Do(ctx, ref)
		return digest, miss, err
	}
	now := c.now()
	age := now - known.lookupTime
	if age < c.options.TTL {
		return known.digest, hit, nil
	}
	failed := time.Duration(known.failed.Load())
	// During an outage, only one caller waits.
	outage := failed != 0 && now-failed < c.options.TTL
	if age >= 2*c.options.TTL && !outage {
		return c.refresh(ctx, ref, known)
	}
	if !outage || now-failed >= min(refreshInterval, c.options.TTL/2) {
		c.digests.Begin(ref)
	}
	return known.digest, stale, nil
}

// known returns the cached or loaded tag.
func (c *Cache) known(ref string) (*tag, bool) {
	if said, ok := c.tags.Get(ref); ok {
		return said, true
	}
	digest, ok := c.loaded.Load().tags[ref]
	if !ok {
		return nil, false
	}
	c.Seed(ref, digest)
	return c.tags.Get(ref)
}

// refresh waits for a lookup, but not longer than Patience.
func (c *Cache) refresh(ctx context.Context, ref string, known *tag) (string, result, error) {
	asking := c.digests.Begin(ref)
	refreshTimer := time.NewTimer(c.options.Patience)
	defer refreshTimer.Stop()
	select {
	case <-asking.Done:
		var gone *NotFoundError
		if asking.Err == nil || errors.As(asking.Err, &gone) {
			return asking.Value, miss, asking.Err
		}
	case <-refreshTimer.C:
		known.failed.Store(int64(c.now()))
	case <-ctx.Done():
		return "", miss, context.Cause(ctx)
	}
	return known.digest, stale, nil
}

// Image returns the image with the given digest in the repository of ref. It is looked up once; the result never expires and applies to
// all tags of the repository. Errors are those from the source, and the context's cause.
func (c *Cache) Image(ctx context.Context, ref, digest string) (Image, error) {
	repository, _, _ := reference.Split(ref)
	key := pinned{repository, digest}
	found, ok := c.images.Get(key)
	how, err := hit, error(nil)
	if !ok {
		found, ok = c.loaded.Load().images[key]
	}
	if !ok {
		how = miss
		found, err = c.configs.Do(ctx, key)
	}
	c.imageLookups.add(how, err)
	if err != nil {
		return Image{}, err
	}
	found.Reference = ref
	return found, nil
}

// Known returns the image with the given digest in the repository of ref if it is cached. It does not block; otherwise it starts a
// lookup in the background.
func (c *Cache) Known(ref, digest string) (Image, bool) {
	repository, _, _ := reference.Split(ref)
	key := pinned{repository, digest}
	found, ok := c.images.Get(key)
	if !ok {
		found, ok = c.loaded.Load().images[key]
	}
	if !ok {
		c.configs.Begin(key)
		return Image{}, false
	}
	found.Reference = ref
	return found, true
}

func (c *Cache) askDigest(ctx context.Context, ref string) (string, error) {
	begin := c.now()
	known, ok := c.tags.Peek(ref)
	// The previous lookup may have ended between the caller's check and the start of this lookup.
	if ok && begin-known.lookupTime < c.options.TTL {
		return known.digest, nil
	}
	digest, err := c.source.Digest(ctx, ref)
	if err != nil {
		if known, ok := c.tags.Peek(ref); ok {
			c.onRefreshFailed(ctx, ref, known, err)
		}
		return "", err
	}
	c.tags.Add(ref, &tag{digest: digest, lookupTime: begin})
	switch {
	case ok && known.digest != digest:
		c.options.Log.InfoContext(ctx, "image tag has moved", "image", ref, "from", known.digest, "to", digest)
	case ok && known.warned.Load():
		c.options.Log.InfoContext(ctx, "registry answers again", "image", ref)
	}
	return digest, nil
}

// onRefreshFailed records a failed refresh of a cached tag. If the registry reports that the tag was deleted, the tag is removed.
func (c *Cache) onRefreshFailed(ctx context.Context, ref string, known *tag, err error) {
	if ctx.Err() != nil {
		return
	}
	if _, ok := errors.AsType[*NotFoundError](err); ok {
		c.forget(ref)
		c.options.Log.WarnContext(ctx, "image tag was deleted", "image", ref, "digest", known.digest, "error", err)
		return
	}
	known.failed.Store(int64(c.now()))
	if known.warned.CompareAndSwap(false, true) {
		c.options.Log.WarnContext(ctx, "registry cannot be asked, using the cached digest", "image", ref,
			"digest", known.digest, "age", c.now()-known.lookupTime, "error", err)
	}
}

func (c *Cache) askImage(ctx context.Context, key pinned) (Image, error) {
	if known, ok := c.images.Peek(key); ok {
		return known, nil
	}
	found, err := c.source.Image(ctx, key.repository, key.digest)
	if err != nil {
		return Image{}, err
	}
	c.images.Add(key, found)
	return found, nil
}
