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

	"github.com/krmfn/krmfn/services/images/flight"
	"github.com/krmfn/krmfn/services/images/policy"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/images/registry"
)

// Source tells what signatures and attestations an image has. It is called by several goroutines at once, and must end with its
// context.
type Source interface {
	Attached(ctx context.Context, ref, digest string) ([]registry.Attached, error)
}

// Checker verifies signatures, of each digest once: what was found good stays so for as long as the rules are the same. It may be
// used by any number of goroutines at once.
type Checker struct {
	source   Source
	good     *lru.Cache[verified, struct{}]
	flights  *flight.Group[question, struct{}]
	duration metric.Float64Histogram
}

// verified is what was found good: a digest, by what a rule wants.
type verified struct{ digest, rule string }

// question is what is verified at once. The policy is the one in force when it was asked.
type question struct {
	policy             *policy.Policy
	repository, digest string
}

const (
	// maxVerified bounds the images that are remembered; those unused for longest are verified again.
	maxVerified = 4096
	// failureTTL is how long a refusal, or a registry's failure, is the answer. Images get signed after they were pushed.
	failureTTL = 5 * time.Second
)

// NewChecker returns a Checker. What it asks ends with the context or with Close, whichever is first. The error is the meter's:
//
//   - krm_image_signature_verification_duration (result): how long images took to verify, seconds: their signatures are as the
//     policy wants (verified), are not (refused), or could not be read (error)
func NewChecker(ctx context.Context, source Source, meter metric.Meter) (*Checker, error) {
	c := &Checker{source: source}
	var err1, err2 error
	c.good, err1 = lru.New[verified, struct{}](maxVerified)
	c.duration, err2 = meter.Float64Histogram("krm_image_signature_verification_duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of verifying the signatures of an image, with the requests to its registry, by result."))
	c.flights = flight.NewGroup(ctx, maxVerified, failureTTL, c.ask)
	return c, errors.Join(err1, err2)
}

// Close ends what is being asked and waits for it.
func (c *Checker) Close() { c.flights.Close() }

// Verify returns nil for an image whose signatures satisfy all rules of the policy that are about it. An image that was verified
// before costs no request. Errors: *policy.RefusedError; those of the source, and the context's cause.
func (c *Checker) Verify(ctx context.Context, p *policy.Policy, ref, digest string) error {
	rules, err := p.Signatures(ref)
	if err != nil || len(c.open(rules, digest)) == 0 {
		return err
	}
	repository, _, _ := reference.Split(ref)
	_, err = c.flights.Do(ctx, question{p, repository, digest})
	return err
}

// open returns the rules that the image is not known to satisfy.
func (c *Checker) open(rules []*policy.SignatureRule, digest string) []*policy.SignatureRule {
	var open []*policy.SignatureRule
	for _, rule := range rules {
		if _, ok := c.good.Get(verified{digest, rule.ID}); !ok {
			open = append(open, rule)
		}
	}
	return open
}

func (c *Checker) ask(ctx context.Context, q question) (struct{}, error) {
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

func (c *Checker) verify(ctx context.Context, q question) error {
	rules, err := q.policy.Signatures(q.repository)
	if err != nil {
		return err
	}
	open := c.open(rules, q.digest)
	if len(open) == 0 {
		return nil
	}
	attached, err := c.source.Attached(ctx, q.repository, q.digest)
	if err != nil {
		return &UnreadableError{Image: q.repository + "@" + q.digest, Err: err}
	}
	for _, rule := range open {
		if err := verifyRule(rule, q.digest, attached); err != nil {
			return &policy.RefusedError{Image: q.repository + "@" + q.digest, Rule: policy.RuleSignatures, Reason: err.Error()}
		}
		c.good.Add(verified{q.digest, rule.ID}, struct{}{})
	}
	return nil
}

// UnreadableError says that a registry could not be asked for the signatures of an image.
type UnreadableError struct {
	// Image is the repository and the digest.
	Image string
	Err   error
}

func (e *UnreadableError) Error() string {
	return "read the signatures of " + e.Image + ": " + e.Err.Error()
}

// Unwrap returns the registry's error.
func (e *UnreadableError) Unwrap() error { return e.Err }
