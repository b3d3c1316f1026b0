// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	lru "github.com/hashicorp/golang-lru/v2"
)

// pullerAge is how long the way to a repository is kept: what the registry asks for, the credentials that were chosen, the
// token. It is long enough for the questions about one image, and short enough for credentials that were replaced.
const pullerAge = time.Minute

// puller is the way to one repository.
type puller struct {
	*remote.Puller
	made time.Time
}

// ask lets a question be asked, within the timeout, and explains its error.
func (c *Client) ask(
	ctx context.Context, repository name.Repository, question func(context.Context, *remote.Puller) error,
) error {
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	err := c.askOnce(bounded, repository, question)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("ask %s: %w", repository, context.Cause(ctx))
	case bounded.Err() != nil:
		return &failure{fmt.Sprintf("no answer of %s within %s: check the way to the registry (network, proxy)",
			repository.RegistryStr(), c.options.Timeout), err}
	}
	return explain(err)
}

// askOnce asks on the way that is kept, and once more on a new one where that may have been the trouble: credentials that
// are outdated, or another caller's context, with which the first contact was made.
func (c *Client) askOnce(
	ctx context.Context, repository name.Repository, question func(context.Context, *remote.Puller) error,
) error {
	kept, ok := c.pullers.Get(repository)
	if ok && time.Since(kept.made) < pullerAge {
		err := question(ctx, kept.Puller)
		if err == nil || ctx.Err() != nil || !refused(err) && !ended(err) {
			return err
		}
	}
	made, err := remote.NewPuller(c.remote...)
	if err != nil {
		return err
	}
	c.pullers.Add(repository, puller{made, time.Now()})
	err = question(ctx, made)
	var unusable *UnusableError
	if err != nil && !errors.As(err, &unusable) {
		c.pullers.Remove(repository)
	}
	return err
}

// newLRU returns a cache of a size that is above 0, which is all that lru.New may not like.
func newLRU[K comparable, V any](size int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](size)
	if err != nil {
		panic(err)
	}
	return cache
}
