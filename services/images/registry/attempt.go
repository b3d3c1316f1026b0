// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/authn"
)

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
