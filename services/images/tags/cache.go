// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package tags lists the tags of images, for the version constraints of functions.
package tags

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Source lists all tags of a repository, which has its registry in front; a registry.Client does. It is called by several
// goroutines at once, and must end with the context. Tags beside an error are those that are known without asking a registry.
type Source interface {
	Tags(ctx context.Context, repository string) ([]string, error)
}

// CacheOptions are a Cache's. Zero values mean the defaults.
type CacheOptions struct {
	// TTL is how long a list is taken for granted. Default 5 minutes.
	TTL time.Duration
	// Size is the most repositories that are kept; those unused for longest go first. Default 256, also for less than 1.
	Size int
	// MaxTags is the most tags that are kept of all repositories together. A list that is longer is kept alone. Default
	// 100,000, also for less than 1.
	MaxTags int
	// Log gets one line for each outage of a registry in which an old list is served. Default: none.
	Log *slog.Logger
}

const (
	// patience is how long a caller waits for a new list where there is an old one.
	patience = 2 * time.Second
	// retryPause is how long a failure is the answer: the old list, or the error where there is none.
	retryPause = 10 * time.Second
)

// Cache is a Source that remembers what another has said, and asks it for one repository once at a time. Where that fails,
// the old list is served, however old. It has no goroutines: who asks first asks for all who wait. It may be used by any
// number of goroutines at once.
type Cache struct {
	options CacheOptions
	source  Source

	mu    sync.Mutex
	known *lru.Cache[string, *list]
	// tags is how many tags the lists have together.
	tags int
	// asking are the repositories that are being asked for; each channel is closed when that is over.
	asking map[string]chan struct{}
}

// list is what is known of a repository.
type list struct {
	tags []string
	// asked is when the tags came; zero means never.
	asked time.Time
	// err is why asking for them has failed since then, and failed is when.
	err    error
	failed time.Time
}

// NewCache returns an empty cache.
func NewCache(source Source, options CacheOptions) *Cache {
	options.TTL = cmp.Or(options.TTL, 5*time.Minute)
	if options.Size <= 0 {
		options.Size = 256
	}
	if options.MaxTags <= 0 {
		options.MaxTags = 100_000
	}
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	c := &Cache{options: options, source: source, asking: map[string]chan struct{}{}}
	var err error
	c.known, err = lru.NewWithEvict(options.Size, func(_ string, l *list) { c.tags -= len(l.tags) })
	if err != nil {
		panic(err) // only for a size below 1
	}
	return c
}

// Tags returns the tags of a repository, as known or as the source says. They must not be changed. Errors are the source's,
// and the context's cause. A failure is the answer for ten seconds.
func (c *Cache) Tags(ctx context.Context, repository string) ([]string, error) {
	for {
		known, asking, mine := c.begin(repository)
		if asking == nil {
			return known.answer()
		}
		if mine {
			return c.ask(ctx, repository, known, asking)
		}
		select {
		case <-asking:
			// Known by now, unless the caller who asked has left.
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// begin returns what is known. The channel is nil where that is the answer; mine tells that it is the caller who asks, and
// nobody else before the channel is closed.
func (c *Cache) begin(repository string) (known *list, asking chan struct{}, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.known.Get(repository)
	if !ok {
		known = &list{}
	}
	if known.holds(c.options.TTL) {
		return known, nil, false
	}
	if asking, ok := c.asking[repository]; ok {
		return known, asking, false
	}
	asking = make(chan struct{})
	c.asking[repository] = asking
	return known, asking, true
}

func (c *Cache) ask(ctx context.Context, repository string, known *list, asking chan struct{}) ([]string, error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asking, repository)
		close(asking)
	}()
	bounded, cancel := ctx, func() {}
	if !known.asked.IsZero() {
		bounded, cancel = context.WithTimeout(ctx, patience)
	}
	defer cancel()
	tags, err := c.source.Tags(bounded, repository)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	fresh := &list{tags: tags, asked: time.Now()}
	if err != nil {
		if !known.asked.IsZero() && known.err == nil {
			c.options.Log.WarnContext(ctx, "the tags of an image cannot be listed, those known before are used", "repository", repository, "err", err)
		}
		fresh = &list{tags: tags, err: err, failed: time.Now()}
		if !known.asked.IsZero() {
			fresh.tags, fresh.asked = known.tags, known.asked
		}
	}
	c.keep(repository, fresh)
	return fresh.answer()
}

func (c *Cache) keep(repository string, fresh *list) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.Remove(repository)
	c.known.Add(repository, fresh)
	for c.tags += len(fresh.tags); c.tags > c.options.MaxTags && c.known.Len() > 1; {
		c.known.RemoveOldest()
	}
}

// holds tells whether a list is the answer without asking.
func (l *list) holds(ttl time.Duration) bool {
	if !l.asked.IsZero() && time.Since(l.asked) < ttl {
		return true
	}
	return l.err != nil && time.Since(l.failed) < min(retryPause, ttl)
}

// answer is the list, or why there is none.
func (l *list) answer() ([]string, error) {
	if !l.asked.IsZero() {
		return l.tags, nil
	}
	return l.tags, l.err
}
