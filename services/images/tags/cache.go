// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package tags lists the tags of images, for the version constraints of functions.
package tags

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/krmfn/krmfn/services/images/flight"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Source lists all tags of a repository, which has its registry in front; a registry.Client does. It is called by several
// goroutines at once, and must end with the context. Tags beside an error are those that are known without asking a registry.
type Source interface {
	Tags(ctx context.Context, repository string) ([]string, error)
}

const (
	// ttl is how long a list is taken for granted.
	ttl = 5 * time.Minute
	// patience is how long a caller waits for a new list where there is an old one.
	patience = 2 * time.Second
	// retryPause is how long a failure is the answer: the old list, or the error where there is none.
	retryPause = 10 * time.Second
	// maxRepositories is the most repositories that are kept; those unused for longest go first.
	maxRepositories = 256
	// maxTags is the most tags that are kept of all repositories together. A list that is longer is kept alone.
	maxTags = 100_000
)

// Cache is a Source that remembers what another has said, and asks it for one repository once at a time. Where that fails,
// the old list is served, however old. It may be used by any number of goroutines at once.
type Cache struct {
	source  Source
	log     *slog.Logger
	maxTags int
	asking  *flight.Group[string, []string]

	mu    sync.Mutex
	known *lru.Cache[string, *list]
	// tags is how many tags the lists have together.
	tags int
}

type list struct {
	tags  []string
	asked time.Time
	// warned says that the outage has been logged.
	warned bool
}

func (l *list) fresh() bool { return time.Since(l.asked) < ttl }

// NewCache returns an empty cache. What it asks ends with the context or with Close, whichever is first. The log gets one
// line for each outage of a registry in which an old list is served.
func NewCache(ctx context.Context, source Source, log *slog.Logger) *Cache {
	return newCache(ctx, source, log, maxRepositories, maxTags)
}

func newCache(ctx context.Context, source Source, log *slog.Logger, maxRepositories, maxTags int) *Cache {
	c := &Cache{source: source, log: log, maxTags: maxTags}
	c.asking = flight.NewGroup(ctx, maxRepositories, retryPause, c.ask)
	var err error
	c.known, err = lru.NewWithEvict(maxRepositories, func(_ string, l *list) { c.tags -= len(l.tags) })
	if err != nil {
		panic(err) // only for a size below 1
	}
	return c
}

// Close ends what is being asked and waits for it.
func (c *Cache) Close() { c.asking.Close() }

// Tags returns the tags of a repository, as known or as the source says. They must not be changed. Errors are the source's,
// and the context's cause. A failure is the answer for ten seconds.
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
		// The last flight may have landed after the caller looked and before this one began.
		if known.fresh() {
			return known.tags, nil
		}
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	tags, err := c.source.Tags(bounded, repository)
	if err == nil {
		c.keep(repository, tags)
		return tags, nil
	}
	if ok && !known.warned && ctx.Err() == nil {
		known.warned = true
		c.log.WarnContext(ctx, "the tags of an image cannot be listed, those known before are used", "repository", repository, "err", err)
	}
	return tags, err
}

func (c *Cache) keep(repository string, tags []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.Remove(repository)
	c.known.Add(repository, &list{tags: tags, asked: time.Now()})
	for c.tags += len(tags); c.tags > c.maxTags && c.known.Len() > 1; {
		c.known.RemoveOldest()
	}
}

// WithBuiltin returns a source for where functions are evaluated in process: when the other one fails, the tags that are known of
// the function come beside the error. So a constraint that they satisfy needs no registry. known returns the tags of the function
// of a name in the catalog, nil where there is none. prefix is one more prefix under which the catalog's functions are known; may
// be empty.
func WithBuiltin(source Source, known func(name string) []string, prefix string) Source {
	return withBuiltin{source, known, prefix}
}

type withBuiltin struct {
	source Source
	known  func(name string) []string
	prefix string
}

// Tags lists the tags of a repository.
func (w withBuiltin) Tags(ctx context.Context, repository string) ([]string, error) {
	tags, err := w.source.Tags(ctx, repository)
	if err == nil {
		return tags, nil
	}
	return append(slices.Clip(tags), w.known(reference.CatalogName(repository, w.prefix))...), err
}
