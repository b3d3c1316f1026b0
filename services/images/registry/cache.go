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

	"github.com/krmfn/krmfn/services/images/flight"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Source is what a Cache asks: a Client. Both methods are called by several goroutines at once, and must end with their
// context.
type Source interface {
	Digest(ctx context.Context, ref string) (string, error)
	Image(ctx context.Context, ref, digest string) (Image, error)
}

// CacheOptions are a Cache's. Zero values mean the defaults.
type CacheOptions struct {
	// TTL is how long a tag's digest is taken for granted. From then on it is asked for again, at first in the background,
	// from twice the TTL on while the caller waits. Default 5 minutes.
	TTL time.Duration
	// Patience is how long a caller waits for news of a tag whose old digest is known. Default 2 seconds.
	Patience time.Duration
	// FailureTTL is how long a failure is the answer for an image that is not known. Default 1 second.
	FailureTTL time.Duration
	// Size is the most tags, and the most images, that are kept; those unused for longest go first. Default 1024, also for
	// less than 1.
	Size int
	// Log gets one line for each tag that moves or goes, and for each outage of a registry as a tag sees it. Default: none.
	Log *slog.Logger
}

// Cache remembers what registries have said. It may be used by any number of goroutines at once.
type Cache struct {
	options CacheOptions
	source  Source
	start   time.Time
	tags    *lru.Cache[string, *tag]
	images  *lru.Cache[pinned, Image]
	digests *flight.Group[string, string]
	configs *flight.Group[pinned, Image]
	// loaded is what Load has made known; loading is held to replace it.
	loaded  atomic.Pointer[known]
	loading sync.Mutex

	tagLookups, imageLookups counts
}

type tag struct {
	digest string
	// asked is when the registry was asked for it, since the cache's start.
	asked time.Duration
	// failed is when asking again last failed or took too long, since the cache's start; 0 means never.
	failed atomic.Int64
	// warned says that the outage has been logged.
	warned atomic.Bool
}

// pinned is an image: what a registry says of it never changes.
type pinned struct{ repository, digest string }

// refreshPause passes between two attempts to refresh a known tag while its registry cannot be asked; less where the TTL is
// short.
const refreshPause = 10 * time.Second

// NewCache returns an empty cache. What it asks in the background ends with the context or with Close, whichever is first.
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

// Close ends what is being asked and waits for it. What is known can still be looked up.
func (c *Cache) Close() {
	c.digests.Close()
	c.configs.Close()
}

// Seed makes a tag's digest known that was learnt elsewhere, from a pod that runs it for instance, where nothing is known
// yet. It is served, and asked for again as soon as it is used. A reference by digest needs none of this and is ignored.
func (c *Cache) Seed(ref, digest string) {
	if given, err := givenDigest(ref); given != "" || err != nil {
		return
	}
	c.tags.ContainsOrAdd(ref, c.seed(digest))
}

// seed returns a tag that is to be asked for again at its next use.
func (c *Cache) seed(digest string) *tag { return &tag{digest: digest, asked: c.now() - c.options.TTL} }

// now is the time since the cache's start, which no change of the clock disturbs. It is above 0.
func (c *Cache) now() time.Duration { return time.Since(c.start) }

// Resolve returns the digest that a reference means: the one it names, or the one of its tag as known or as the registry
// says. Where the registry cannot be asked, the old digest is returned, however old. A known tag costs no request and no
// waiting, except the first time after twice the TTL: then up to CacheOptions.Patience.
//
// Errors: *NotFoundError, also for a tag that was known, where the registry says that it is gone; *UnauthorizedError; the
// context's cause; others of the source, which may pass.
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
	age := now - known.asked
	if age < c.options.TTL {
		return known.digest, hit, nil
	}
	failed := time.Duration(known.failed.Load())
	// One caller has waited in this outage. That is enough.
	outage := failed != 0 && now-failed < c.options.TTL
	if age >= 2*c.options.TTL && !outage {
		return c.refresh(ctx, ref, known)
	}
	if !outage || now-failed >= min(refreshPause, c.options.TTL/2) {
		c.digests.Begin(ref)
	}
	return known.digest, stale, nil
}

// known returns what is known of a tag.
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

// refresh waits for the registry's word, but not for long.
func (c *Cache) refresh(ctx context.Context, ref string, known *tag) (string, result, error) {
	asking := c.digests.Begin(ref)
	patience := time.NewTimer(c.options.Patience)
	defer patience.Stop()
	select {
	case <-asking.Done:
		var gone *NotFoundError
		if asking.Err == nil || errors.As(asking.Err, &gone) {
			return asking.Value, miss, asking.Err
		}
	case <-patience.C:
		known.failed.Store(int64(c.now()))
	case <-ctx.Done():
		return "", miss, context.Cause(ctx)
	}
	return known.digest, stale, nil
}

// Image returns what is to be known of the image with this digest in the repository of ref. The registry is asked once; the
// answer holds for ever, and for all tags of the repository. Errors are those of the source, and the context's cause.
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

// Known returns what is known of the image with this digest in the repository of ref, and does not wait: what is not known is asked for
// in the background.
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
	asked := c.now()
	known, ok := c.tags.Peek(ref)
	// The last flight may have landed after the caller looked and before this one began.
	if ok && asked-known.asked < c.options.TTL {
		return known.digest, nil
	}
	digest, err := c.source.Digest(ctx, ref)
	if err != nil {
		if known, ok := c.tags.Peek(ref); ok {
			c.lost(ctx, ref, known, err)
		}
		return "", err
	}
	c.tags.Add(ref, &tag{digest: digest, asked: asked})
	switch {
	case ok && known.digest != digest:
		c.options.Log.InfoContext(ctx, "image tag has moved", "image", ref, "from", known.digest, "to", digest)
	case ok && known.warned.Load():
		c.options.Log.InfoContext(ctx, "registry answers again", "image", ref)
	}
	return digest, nil
}

// lost notes that a known tag could not be refreshed, and forgets it where the registry says that it is gone.
func (c *Cache) lost(ctx context.Context, ref string, known *tag, err error) {
	if ctx.Err() != nil {
		return
	}
	if _, ok := errors.AsType[*NotFoundError](err); ok {
		c.forget(ref)
		c.options.Log.WarnContext(ctx, "image tag is gone", "image", ref, "digest", known.digest, "error", err)
		return
	}
	known.failed.Store(int64(c.now()))
	if known.warned.CompareAndSwap(false, true) {
		c.options.Log.WarnContext(ctx, "registry cannot be asked, the image is used as it is known", "image", ref,
			"digest", known.digest, "age", c.now()-known.asked, "error", err)
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
