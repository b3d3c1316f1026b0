// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package permission keeps images out of function pods that the image policy does not permit.
package permission

import (
	"context"
	"log/slog"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/krmfn/krmfn/services/images/policy"
)

// Source tells which digest a reference names now.
type Source interface {
	Resolve(ctx context.Context, reference string) (digest string, err error)
}

// Resolver is a Source of what the policy permits. It may be used by any number of goroutines at once.
type Resolver struct {
	source Source
	policy func() *policy.Policy
	log    *slog.Logger
	// warned are the references that were warned of, as many as are likely to be in use.
	warned *lru.Cache[string, struct{}]
}

// maxWarned bounds the references that are remembered. Callers can make them up.
const maxWarned = 1024

// NewResolver returns a Resolver. policy returns the policy in force; a nil one permits all.
func NewResolver(source Source, policy func() *policy.Policy, log *slog.Logger) (*Resolver, error) {
	warned, err := lru.New[string, struct{}](maxWarned)
	return &Resolver{source: source, policy: policy, log: log, warned: warned}, err
}

// Resolve returns the digest of an image that may run. Errors: *imagepolicy.RefusedError, where the registry was not asked unless
// the policy goes by digests; those of the source.
func (r *Resolver) Resolve(ctx context.Context, reference string) (string, error) {
	policy := r.policy()
	if policy == nil {
		return r.source.Resolve(ctx, reference)
	}
	if err := policy.Refused(reference); err != nil {
		return "", err
	}
	digest, err := r.source.Resolve(ctx, reference)
	if err != nil {
		return "", err
	}
	if err := policy.RefusedDigest(reference, digest); err != nil {
		return "", err
	}
	if warning := policy.Warning(reference); warning != "" {
		if known, _ := r.warned.ContainsOrAdd(reference, struct{}{}); !known {
			r.log.WarnContext(ctx, "an image may change without notice", "image", reference, "warning", warning)
		}
	}
	return digest, nil
}
