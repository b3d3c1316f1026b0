// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
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
	// number is which of the credentials it has.
	number int
}

// ask lets a question be asked, within the timeout, and explains its error.
func (c *Client) ask(
	ctx context.Context, repository name.Repository, question func(context.Context, *remote.Puller) error,
) error {
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	bounded, sent := withSecrets(bounded)
	err := c.askOnce(bounded, repository, question)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("ask %s: %w", repository, context.Cause(ctx))
	case bounded.Err() != nil:
		return &failure{fmt.Sprintf("no answer of %s within %s: check the connection to the registry (network, proxy)",
			repository.RegistryStr(), c.options.Timeout), err}
	}
	return explain(err, sent)
}

// askOnce asks on the way that is kept, and once more on a new one where that may have been the trouble: credentials that
// are outdated, or another caller's context, with which the first contact was made. Where there are several credentials and
// the registry refuses some, the others are tried, those that were good before first.
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
	return c.withEach(ctx, kept.number, func(keys *attempt) error { return c.askAnew(ctx, repository, keys, question) })
}

// withEach does something with the credentials in turn, those with the number first, until they are not refused.
func (c *Client) withEach(ctx context.Context, number int, do func(*attempt) error) error {
	for tried := 1; ; tried++ {
		keys := &attempt{keychain: c.options.Keychain, number: number}
		err := do(keys)
		if err == nil || ctx.Err() != nil || !refused(err) {
			return err
		}
		var more bool
		if number, more = keys.next(tried); !more {
			return err
		}
	}
}

// askAnew asks on a new way, which is kept where it was not the trouble.
func (c *Client) askAnew(
	ctx context.Context, repository name.Repository, keys *attempt, question func(context.Context, *remote.Puller) error,
) error {
	made, err := remote.NewPuller(slices.Concat(c.remote, []remote.Option{remote.WithAuthFromKeychain(keys)})...)
	if err != nil {
		return err
	}
	c.pullers.Add(repository, puller{made, time.Now(), keys.number})
	err = question(ctx, made)
	if err != nil && !errors.As(err, new(*UnusableError)) && !errors.As(err, new(*ThrottledError)) {
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

// maxAttempts is the most credentials that are tried, one after the other. Servers count the attempts that fail.
const maxAttempts = 4

// attempt is the keychain of one way to a repository. Where there are several credentials for it, as the kubelet tries them
// all, each attempt has one of them.
type attempt struct {
	keychain authn.Keychain
	// number is which of them, from 0.
	number int
	// of is how many there are, once it has been asked.
	of atomic.Int64
}

// Resolve is ResolveContext without an end.
func (a *attempt) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return a.ResolveContext(context.Background(), target) //nolint:forbidigo // authn.Keychain wants it; registries' clients call the other.
}

// ResolveContext returns the credentials for a repository.
func (a *attempt) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	k, ok := a.keychain.(*Keychain)
	if !ok {
		return authn.Resolve(ctx, a.keychain, target)
	}
	found, of, err := k.resolve(ctx, target, a.number)
	a.of.Store(int64(min(of, maxAttempts)))
	return found, err
}

// next returns the number of the attempt to make when this one was refused and so many were made.
func (a *attempt) next(made int) (int, bool) {
	of := int(a.of.Load())
	if made >= of {
		return 0, false
	}
	return (a.number + 1) % of, true
}
