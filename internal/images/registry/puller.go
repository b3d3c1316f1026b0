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

// pullerAge is the time for which a puller is used: its knowledge of the registry, its credentials and its token. It suffices for all
// lookups of one image, and replaced credentials take effect soon.
const pullerAge = time.Minute

// puller is a remote.Puller for one repository.
type puller struct {
	*remote.Puller
	made time.Time
	// number is the number of its credentials, for Keychain.resolve.
	number int
}

// ask runs a lookup within the timeout, and explains its error.
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
		return &failure{fmt.Sprintf("no response from %s within %s: check the connection to the registry (network, proxy)",
			repository.RegistryStr(), c.options.Timeout), err}
	}
	return explain(err, sent)
}

// askOnce runs a lookup with the cached puller. If that fails for a reason that a new puller may fix, it runs the lookup again with a
// new one: credentials may have been replaced, or the puller's first request may have failed because another caller left. If the
// registry rejects one of several credentials, it tries the others, beginning with those that worked before.
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
	return c.withEach(ctx, kept.number, func(keys *attempt) error { return c.askWithNewPuller(ctx, repository, keys, question) })
}

// withEach calls do with each of the credentials in turn, beginning with number, until the registry accepts them.
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

// askWithNewPuller runs a lookup with a new puller. The puller is cached if it worked.
func (c *Client) askWithNewPuller(
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

// newLRU returns a cache. size must be positive, which is the only error condition of lru.New.
func newLRU[K comparable, V any](size int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](size)
	if err != nil {
		panic(err)
	}
	return cache
}

// maxAttempts is the maximum number of credentials to try. Servers count failed attempts.
const maxAttempts = 4

// attempt is the keychain of one puller. If there are several credentials for the repository, each attempt uses one of them, because
// the kubelet tries all.
type attempt struct {
	keychain authn.Keychain
	// number is the number of the credentials, from 0.
	number int
	// of is the number of matching credentials, once Resolve was called.
	of atomic.Int64
}

// Resolve is ResolveContext without a context.
func (a *attempt) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return a.ResolveContext(context.Background(), target) //nolint:forbidigo // authn.Keychain requires it; registry clients call ResolveContext
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

// next returns the number of the next credentials to try after made attempts, and whether to try again.
func (a *attempt) next(made int) (int, bool) {
	of := int(a.of.Load())
	if made >= of {
		return 0, false
	}
	return (a.number + 1) % of, true
}
