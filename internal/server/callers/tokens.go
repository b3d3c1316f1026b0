// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// maxTokens is the maximum number of cached results.
	maxTokens = 1024
	// validTTL is the time for which an accepted token is cached, unless it expires earlier. A deleted service account can call
	// for that long. invalidTTL is the time for which a rejected token is cached.
	validTTL, invalidTTL = time.Minute, 10 * time.Second
	// reviewTime is the timeout of a TokenReview.
	reviewTime = 5 * time.Second
	// maxReviews is the maximum number of concurrent TokenReviews.
	maxReviews = 16
)

// Reviewer creates TokenReviews. TokenReviewInterface of a Kubernetes clientset implements it.
type Reviewer interface {
	Create(ctx context.Context, review *authenticationv1.TokenReview, o metav1.CreateOptions) (*authenticationv1.TokenReview, error)
}

// invalidTokenError says why a token is rejected.
type invalidTokenError struct{ reason string }

func (e *invalidTokenError) Error() string { return "the caller's token is invalid: " + e.reason }

var errBusy = errors.New("too many tokens are being checked: try again")

// cachedResult is a cached result for a token.
type cachedResult struct {
	account string
	err     error
	until   time.Time
}

// tokens checks and caches tokens. Concurrent calls with the same token share one TokenReview. The cache has only hashes of
// tokens.
type tokens struct {
	reviewer Reviewer
	audience string
	flight   singleflight.Group
	slots    chan struct{}
	cache    *lru.Cache[[sha256.Size]byte, cachedResult]
}

func newTokens(reviewer Reviewer, audience string) *tokens {
	kept, err := lru.New[[sha256.Size]byte, cachedResult](maxTokens)
	if err != nil {
		panic(err) // fails only for a size below 1
	}
	return &tokens{reviewer: reviewer, audience: audience, slots: make(chan struct{}, maxReviews), cache: kept}
}

// account returns the service account of a token, as NAMESPACE/NAME. The error is a *invalidTokenError if the token is
// rejected, or another error if it could not be checked.
func (t *tokens) account(ctx context.Context, text string) (string, error) {
	// Reject tokens that cannot be valid without asking the API server.
	claimed, err := parseClaims(text)
	if err != nil {
		return "", err
	}
	now := time.Now()
	switch {
	case !slices.Contains(claimed.Audiences, t.audience):
		return "", &invalidTokenError{"it is not for the audience " + t.audience}
	case !claimed.Expiry.After(now):
		return "", &invalidTokenError{"it expired at " + claimed.Expiry.UTC().Format(time.RFC3339)}
	}
	hash := sha256.Sum256([]byte(text))
	if a, ok := t.cache.Get(hash); ok && a.until.After(now) {
		return a.account, a.err
	}
	// The first caller sends the review for all. It takes at most reviewTime.
	account, err, _ := t.flight.Do(string(hash[:]), func() (any, error) {
		a := t.review(context.WithoutCancel(ctx), text, claimed.Expiry)
		if !a.until.IsZero() {
			t.cache.Add(hash, a)
		}
		return a.account, a.err
	})
	return account.(string), err
}

// review sends a TokenReview. An answer with a zero until is not cached.
func (t *tokens) review(ctx context.Context, text string, expiry time.Time) cachedResult {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	default:
		return cachedResult{err: errBusy}
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	asked := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: text, Audiences: []string{t.audience}}}
	review, err := t.reviewer.Create(ctx, asked, metav1.CreateOptions{})
	if err != nil {
		return cachedResult{err: fmt.Errorf("create TokenReview: %w", err)}
	}
	account, invalid := t.accepted(review.Status)
	if invalid != "" {
		return cachedResult{err: &invalidTokenError{invalid}, until: time.Now().Add(invalidTTL)}
	}
	until := time.Now().Add(validTTL)
	if expiry.Before(until) {
		until = expiry
	}
	return cachedResult{account: account, until: until}
}

// accepted returns the service account of an accepted token, or why the token is rejected.
func (t *tokens) accepted(s authenticationv1.TokenReviewStatus) (account, invalid string) {
	switch {
	case !s.Authenticated:
		return "", "the Kubernetes API server does not accept it"
	case !slices.Contains(s.Audiences, t.audience):
		return "", "the Kubernetes API server does not accept it for the audience " + t.audience
	}
	name, ok := strings.CutPrefix(s.User.Username, "system:serviceaccount:")
	namespace, name, both := strings.Cut(name, ":")
	if !ok || !both {
		return "", "it is not a service account token"
	}
	return namespace + "/" + name, ""
}
