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
	// maxTokens is how many answers are kept.
	maxTokens = 1024
	// keepGood is how long a token that is accepted is not asked about again, if it does not expire before: a service account that
	// is deleted can call for that long. keepBad is that time for tokens that are not.
	keepGood, keepBad = time.Minute, 10 * time.Second
	// reviewTime is how long the cluster may take to check a token.
	reviewTime = 5 * time.Second
	// maxReviews is how many tokens are checked at once.
	maxReviews = 16
)

// Reviewer asks a cluster about tokens; the TokenReviews of a Kubernetes clientset are one.
type Reviewer interface {
	Create(ctx context.Context, review *authenticationv1.TokenReview, o metav1.CreateOptions) (*authenticationv1.TokenReview, error)
}

// invalidTokenError says why a token does not count.
type invalidTokenError struct{ reason string }

func (e *invalidTokenError) Error() string { return "the caller's token does not count: " + e.reason }

var errBusy = errors.New("too many tokens are checked at once: try again")

// answer is what is known of a token.
type answer struct {
	account string
	err     error
	until   time.Time
}

// tokens checks tokens: each once at a time, whoever sends it, and not again for a while. Only hashes of tokens are kept.
type tokens struct {
	reviewer Reviewer
	audience string
	flight   singleflight.Group
	places   chan struct{}
	kept     *lru.Cache[[sha256.Size]byte, answer]
}

func newTokens(reviewer Reviewer, audience string) *tokens {
	kept, err := lru.New[[sha256.Size]byte, answer](maxTokens)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &tokens{reviewer: reviewer, audience: audience, places: make(chan struct{}, maxReviews), kept: kept}
}

// account returns the service account of a token, as NAMESPACE/NAME. The error is an invalidTokenError for a token that does not count,
// and another where that is not known.
func (t *tokens) account(ctx context.Context, text string) (string, error) {
	// What a token says of itself spares the cluster those that cannot count.
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
	if a, ok := t.kept.Get(hash); ok && a.until.After(now) {
		return a.account, a.err
	}
	// Whoever comes first asks for all. It takes no longer than reviewTime.
	account, err, _ := t.flight.Do(string(hash[:]), func() (any, error) {
		a := t.review(context.WithoutCancel(ctx), text, claimed.Expiry)
		if !a.until.IsZero() {
			t.kept.Add(hash, a)
		}
		return a.account, a.err
	})
	return account.(string), err
}

// review asks the cluster. An answer without time is not kept.
func (t *tokens) review(ctx context.Context, text string, expiry time.Time) answer {
	select {
	case t.places <- struct{}{}:
		defer func() { <-t.places }()
	default:
		return answer{err: errBusy}
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	asked := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: text, Audiences: []string{t.audience}}}
	review, err := t.reviewer.Create(ctx, asked, metav1.CreateOptions{})
	if err != nil {
		return answer{err: fmt.Errorf("ask the Kubernetes API server: %w", err)}
	}
	account, invalid := t.accepted(review.Status)
	if invalid != "" {
		return answer{err: &invalidTokenError{invalid}, until: time.Now().Add(keepBad)}
	}
	until := time.Now().Add(keepGood)
	if expiry.Before(until) {
		until = expiry
	}
	return answer{account: account, until: until}
}

// accepted returns the service account that the cluster knows a token for, or why it does not count.
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
		return "", "it is not a service account's"
	}
	return namespace + "/" + name, ""
}
