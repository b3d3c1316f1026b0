// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package permission keeps images out of function pods that the image policy does not permit.
package permission

import (
	"context"
	"errors"
	"log/slog"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/services/images/policy"
)

// Source tells which digest a reference names now.
type Source interface {
	Resolve(ctx context.Context, reference string) (digest string, err error)
}

// Verifier tells whether the image with a digest is signed as a policy wants. What is known to be signed costs no request.
type Verifier interface {
	Verify(ctx context.Context, p *policy.Policy, reference, digest string) error
}

// Resolver is a Source of what the policy permits. It may be used by any number of goroutines at once.
type Resolver struct {
	source     Source
	signatures Verifier
	policy     func() *policy.Policy
	log        *slog.Logger
	// refusals counts images that the policy refused.
	refusals metric.Int64Counter
	// warned are the references that were warned of, as many as are likely to be in use.
	warned *lru.Cache[string, struct{}]
}

// maxWarned bounds the references that are remembered. Callers can make them up.
const maxWarned = 1024

// NewResolver returns a Resolver. policy returns the policy in force; a nil one permits all. It counts krm_image_policy_refusals (rule):
// calls whose image the policy refused.
func NewResolver(source Source, signatures Verifier, policy func() *policy.Policy, meter metric.Meter, log *slog.Logger) (*Resolver, error) {
	warned, err1 := lru.New[string, struct{}](maxWarned)
	refusals, err2 := meter.Int64Counter("krm_image_policy_refusals", metric.WithDescription("Calls whose image the image policy refused."))
	return &Resolver{source: source, signatures: signatures, policy: policy, log: log, refusals: refusals, warned: warned}, errors.Join(err1, err2)
}

// Resolve returns the digest of an image that may run. Errors: *policy.RefusedError, where the registry was not asked unless
// the policy goes by digests or signatures; those of the source and of the verifier.
func (r *Resolver) Resolve(ctx context.Context, reference string) (string, error) {
	policy := r.policy()
	if policy == nil {
		return r.source.Resolve(ctx, reference)
	}
	if err := policy.Refused(reference); err != nil {
		return "", r.refuse(ctx, err)
	}
	digest, err := r.source.Resolve(ctx, reference)
	if err != nil {
		return "", err
	}
	if err := policy.RefusedDigest(reference, digest); err != nil {
		return "", r.refuse(ctx, err)
	}
	if err := r.signatures.Verify(ctx, policy, reference, digest); err != nil {
		return "", r.refuse(ctx, err)
	}
	if warning := policy.Warning(reference); warning != "" {
		if known, _ := r.warned.ContainsOrAdd(reference, struct{}{}); !known {
			r.log.WarnContext(ctx, "an image may change without notice", "image", reference, "warning", warning)
		}
	}
	return digest, nil
}

// refuse counts a refusal and returns it.
func (r *Resolver) refuse(ctx context.Context, err error) error {
	if refused, ok := errors.AsType[*policy.RefusedError](err); ok {
		r.refusals.Add(ctx, 1, metric.WithAttributes(attribute.String("rule", string(refused.Rule))))
	}
	return err
}
