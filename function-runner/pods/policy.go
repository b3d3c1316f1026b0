// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"log/slog"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/internal/images/policy"
)

// digestSource resolves references to their current digests.
type digestSource interface {
	Resolve(ctx context.Context, reference string) (digest string, err error)
}

// signatureVerifier verifies that the image with a digest has the signatures that a policy requires. It caches successful verifications.
type signatureVerifier interface {
	Verify(ctx context.Context, p *policy.Policy, reference, digest string) error
}

// policyResolver resolves references to digests that the policy permits. Its methods are safe for concurrent use.
type policyResolver struct {
	source     digestSource
	signatures signatureVerifier
	policy     func() *policy.Policy
	log        *slog.Logger
	// refusals counts the images that the policy has rejected.
	refusals metric.Int64Counter
	// warned holds the references that a warning was logged for.
	warned *lru.Cache[string, struct{}]
}

// maxWarned limits the size of warned, because callers can use any number of references.
const maxWarned = 1024

// newPolicyResolver returns a policyResolver. policy returns the current policy, and a nil policy permits all images. The metric
// krm_image_policy_refusals (rule) counts calls whose image the policy rejects.
func newPolicyResolver(source digestSource, signatures signatureVerifier, policy func() *policy.Policy, meter metric.Meter, log *slog.Logger) (*policyResolver, error) {
	warned, err1 := lru.New[string, struct{}](maxWarned)
	refusals, err2 := meter.Int64Counter("krm_image_policy_refusals", metric.WithDescription("Calls whose image the image policy refused."))
	return &policyResolver{source: source, signatures: signatures, policy: policy, log: log, refusals: refusals, warned: warned}, errors.Join(err1, err2)
}

// Resolve returns the digest of a permitted image. Errors: *policy.RefusedError, and errors of the source and of the verifier. Resolve
// sends no request to the registry if the policy rejects the reference itself.
func (r *policyResolver) Resolve(ctx context.Context, reference string) (string, error) {
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

// refuse counts an error if it is a rejection by the policy, and returns the error.
func (r *policyResolver) refuse(ctx context.Context, err error) error {
	if refused, ok := errors.AsType[*policy.RefusedError](err); ok {
		r.refusals.Add(ctx, 1, metric.WithAttributes(attribute.String("rule", string(refused.Rule))))
	}
	return err
}
