// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package tags lists the tags of images, to resolve version constraints of functions.
package tags

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/krmfn/krmfn/internal/images/flight"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Source lists all tags of a repository, which includes the registry. registry.Client implements it. It must be safe for concurrent
// use, and must return when the context ends. Together with an error, it may return tags that are known without the registry.
type Source interface {
	Tags(ctx context.Context, repository string) ([]string, error)
}

const (
	// ttl is the time for which a list is used without a lookup.
	ttl = 5 * time.Minute
	// maxWait is the maximum time that a caller with a cached list waits for a new one.
	maxWait = 2 * time.Second
	// retryInterval is the minimum interval between lookups after a failure. Meanwhile, the cached list or the error is returned.
	retryInterval = 10 * time.Second
	// maxRepositories is the maximum number of cached lists. The least recently used ones are evicted.
	maxRepositories = 256
	// maxTags is the maximum number of cached tags of all repositories. A longer list is cached as the only one.
	maxTags = 100_000
)

// Cache caches the results of another Source, and merges concurrent lookups of a repository. If a lookup fails, it returns the cached
// list, however old. It is safe for concurrent use.
type Cache struct {
	source  Source
	log     *slog.Logger
	maxTags int
	asking  *flight.Group[string, []string]

	mu    sync.Mutex
	known *lru.Cache[string, *list]
	// tags is the total number of tags in the lists.
	tags int
}

type list struct {
	tags       []string
	lookupTime time.Time
	// warned means that the outage has been logged.
	warned bool
}

func (l *list) fresh() bool { return time.Since(l.lookupTime) < ttl }

// NewCache returns an empty cache. Its lookups end with the context or with Close. It logs one line for each outage during which it
// returns a cached list.
func NewCache(ctx context.Context, source Source, log *slog.Logger) *Cache {
	return newCache(ctx, source, log, maxRepositories, maxTags)
}

func newCache(ctx context.Context, source Source, log *slog.Logger, maxRepositories, maxTags int) *Cache {
	c := &Cache{source: source, log: log, maxTags: maxTags}
	c.asking = flight.NewGroup(ctx, maxRepositories, retryInterval, c.ask)
	var err error
	c.known, err = lru.NewWithEvict(maxRepositories, func(_ string, l *list) { c.tags -= len(l.tags) })
	if err != nil {
		panic(err) // maxRepositories is less than 1
	}
	return c
}

// Close cancels running lookups and waits for them.
func (c *Cache) Close() { c.asking.Close() }

// Tags returns the tags of a repository, cached or looked up. Callers must not modify them. Errors are those from the source, and the
// context's cause. An error is returned again for 10 seconds.
func (c *Cache) Tags(ctx context.Context, repository string) ([]string, error) {
	known, ok := c.known.Get(repository)
	if ok && known.fresh() {
		return known.tags, nil
	}
	tags, err := c.asking.Do(ctx, repository)
	if err != nil && ok && ctx.Err() == nil {
		return known.tags, nil
	}
	return tags, err
}

func (c *Cache) ask(ctx context.Context, repository string) ([]string, error) {
	known, ok := c.known.Peek(repository)
	bounded := ctx
	if ok {
		// The previous lookup may have ended between the caller's check and the start of this lookup.
		if known.fresh() {
			return known.tags, nil
		}
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, maxWait)
		defer cancel()
	}
	tags, err := c.source.Tags(bounded, repository)
	if err == nil {
		c.store(repository, tags)
		return tags, nil
	}
	if ok && !known.warned && ctx.Err() == nil {
		known.warned = true
		c.log.WarnContext(ctx, "the tags of an image cannot be listed, using the cached list", "repository", repository, "err", err)
	}
	return tags, err
}

func (c *Cache) store(repository string, tags []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.Remove(repository)
	c.known.Add(repository, &list{tags: tags, lookupTime: time.Now()})
	for c.tags += len(tags); c.tags > c.maxTags && c.known.Len() > 1; {
		c.known.RemoveOldest()
	}
}

// WithBuiltin returns a source for evaluators that have built-in functions. If the other source fails, it returns the known tags of the
// function together with the error, so that a constraint that they satisfy needs no registry. known returns the tags of the catalog
// function with a name, or nil if there is none. prefix is an additional prefix of catalog functions; it may be empty.
func WithBuiltin(source Source, known func(name string) []string, prefix string) Source {
	return withBuiltin{source, known, prefix}
}

type withBuiltin struct {
	source Source
	known  func(name string) []string
	prefix string
}

// Tags implements Source.
func (w withBuiltin) Tags(ctx context.Context, repository string) ([]string, error) {
	tags, err := w.source.Tags(ctx, repository)
	if err == nil {
		return tags, nil
	}
	return append(slices.Clip(tags), w.known(reference.CatalogName(repository, w.prefix))...), err
}
