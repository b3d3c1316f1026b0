// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package signatures

import (
	"context"
	"errors"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/internal/images/flight"
	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Source returns the signatures and attestations of an image. It must be safe for concurrent use, and must return when its context
// ends.
type Source interface {
	Attached(ctx context.Context, ref, digest string) ([]registry.Attached, error)
}

// Checker verifies signatures. It verifies each digest once per rule: a successful result is cached, because it does not change. It is
// safe for concurrent use.
type Checker struct {
	source   Source
	good     *lru.Cache[verified, struct{}]
	flights  *flight.Group[verification, struct{}]
	duration metric.Float64Histogram
}

// verified is a digest that satisfies the rule with an ID.
type verified struct{ digest, rule string }

// verification identifies a running verification. It includes the policy at the time of the call.
type verification struct {
	policy             *policy.Policy
	repository, digest string
}

const (
	// maxVerified is the maximum number of cached results. The least recently used ones are evicted.
	maxVerified = 4096
	// failureTTL is the time for which an error is returned again. It is short, because images may be signed after they are pushed.
	failureTTL = 5 * time.Second
)

// NewChecker returns a Checker. Its requests end with the context or with Close. It returns an error if this metric cannot be
// registered:
//
// - krm_image_signature_verification_duration (result): seconds to verify an image whose signatures satisfy the policy (verified), do
// not (refused), or could not be read (error)
func NewChecker(ctx context.Context, source Source, meter metric.Meter) (*Checker, error) {
	c := &Checker{source: source}
	var err1, err2 error
	c.good, err1 = lru.New[verified, struct{}](maxVerified)
	c.duration, err2 = meter.Float64Histogram("krm_image_signature_verification_duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of verifying the signatures of an image, with the requests to its registry, by result."))
	c.flights = flight.NewGroup(ctx, maxVerified, failureTTL, c.ask)
	return c, errors.Join(err1, err2)
}

// Close cancels running verifications and waits for them.
func (c *Checker) Close() { c.flights.Close() }

// Verify returns nil if the signatures of an image satisfy all rules of the policy for the image. An image with a cached result needs
// no request. Errors are *policy.RefusedError, *UnreadableError, and the context's cause.
func (c *Checker) Verify(ctx context.Context, p *policy.Policy, ref, digest string) error {
	rules, err := p.Signatures(ref)
	if err != nil || len(c.unverified(rules, digest)) == 0 {
		return err
	}
	repository, _, _ := reference.Split(ref)
	_, err = c.flights.Do(ctx, verification{p, repository, digest})
	return err
}

// unverified returns the rules without a cached result for the digest.
func (c *Checker) unverified(rules []*policy.SignatureRule, digest string) []*policy.SignatureRule {
	var missing []*policy.SignatureRule
	for _, rule := range rules {
		if _, ok := c.good.Get(verified{digest, rule.ID}); !ok {
			missing = append(missing, rule)
		}
	}
	return missing
}

func (c *Checker) ask(ctx context.Context, q verification) (struct{}, error) {
	begin := time.Now()
	err := c.verify(ctx, q)
	result := "verified"
	switch {
	case errors.As(err, new(*policy.RefusedError)):
		result = "refused"
	case err != nil:
		result = "error"
	}
	c.duration.Record(ctx, time.Since(begin).Seconds(), metric.WithAttributes(attribute.String("result", result)))
	return struct{}{}, err
}

func (c *Checker) verify(ctx context.Context, q verification) error {
	rules, err := q.policy.Signatures(q.repository)
	if err != nil {
		return err
	}
	missing := c.unverified(rules, q.digest)
	if len(missing) == 0 {
		return nil
	}
	attached, err := c.source.Attached(ctx, q.repository, q.digest)
	if err != nil {
		return &UnreadableError{Image: q.repository + "@" + q.digest, Err: err}
	}
	for _, rule := range missing {
		if err := verifyRule(rule, q.digest, attached); err != nil {
			return &policy.RefusedError{Image: q.repository + "@" + q.digest, Rule: policy.RuleSignatures, Reason: err.Error()}
		}
		c.good.Add(verified{q.digest, rule.ID}, struct{}{})
	}
	return nil
}

// UnreadableError reports that the signatures of an image could not be read from the registry.
type UnreadableError struct {
	// Image is the image as repository@digest.
	Image string
	Err   error
}

func (e *UnreadableError) Error() string {
	return "read the signatures of " + e.Image + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *UnreadableError) Unwrap() error { return e.Err }
