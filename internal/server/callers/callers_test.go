// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// jwt returns a token like a cluster's, but without a valid signature.
func jwt(expiry time.Time, audiences, name string) string {
	payload := fmt.Sprintf(`{"aud":%s,"exp":%d,"sub":%q}`, audiences, expiry.Unix(), name)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".signature"
}

// cluster is a Reviewer that counts the reviews.
type cluster struct {
	asked atomic.Int64
	// status checks a token. If it is nil, the cluster does not answer.
	status func(token string) (authenticationv1.TokenReviewStatus, error)
}

func (c *cluster) Create(ctx context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	c.asked.Add(1)
	if c.status == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var err error
	r.Status, err = c.status(r.Spec.Token)
	return r, err
}

// knows returns a cluster that accepts all tokens and attributes them to user.
func knows(user string) *cluster {
	return &cluster{status: func(string) (authenticationv1.TokenReviewStatus, error) {
		return authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: []string{"krmfn"}, User: authenticationv1.UserInfo{Username: user}}, nil
	}}
}

// call returns the context of a call with a client certificate and a token; "" means none.
func call(t *testing.T, certificate, token string) context.Context {
	t.Helper()
	p := &peer.Peer{Addr: &net.TCPAddr{}}
	if certificate != "" {
		leaf := &x509.Certificate{DNSNames: []string{certificate}}
		if uri, err := url.Parse(certificate); err == nil && uri.Scheme != "" {
			leaf = &x509.Certificate{URIs: []*url.URL{uri}}
		}
		p.AuthInfo = credentials.TLSInfo{State: tls.ConnectionState{
			PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf}},
		}}
	}
	ctx := peer.NewContext(t.Context(), p)
	if token != "" {
		ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer "+token))
	}
	return ctx
}

func TestPermit(t *testing.T) {
	t.Parallel()
	const user = "system:serviceaccount:porch-system:porch-server"
	soon := time.Now().Add(time.Hour)
	good := jwt(soon, `["krmfn","other"]`, "a")
	certificates := Flags{Clients: []string{"spiffe://cluster/ns/porch-*", "porch.example.org"}}
	tokens := Flags{Audience: "krmfn", ServiceAccounts: []string{"porch-system/porch-server", "tools/*"}}
	both := Flags{certificates.Clients, tokens.Audience, tokens.ServiceAccounts}
	fails := &cluster{status: func(string) (authenticationv1.TokenReviewStatus, error) {
		return authenticationv1.TokenReviewStatus{}, errors.New("no answer")
	}}
	refuses := &cluster{status: func(string) (authenticationv1.TokenReviewStatus, error) {
		return authenticationv1.TokenReviewStatus{Error: "no"}, nil
	}}
	ignoresAudiences := &cluster{status: func(string) (authenticationv1.TokenReviewStatus, error) {
		return authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: user}}, nil
	}}
	for name, tc := range map[string]struct {
		flags              Flags
		cluster            *cluster
		certificate, token string
		code               codes.Code
		want               string
	}{
		"any certificate":          {Flags{}, nil, "anyone", "", codes.OK, ""},
		"no certificate":           {Flags{}, nil, "", "", codes.Unauthenticated, "present a client certificate"},
		"a token is ignored":       {Flags{}, nil, "", good, codes.Unauthenticated, "present a client certificate"},
		"a SPIFFE ID by prefix":    {certificates, nil, "spiffe://cluster/ns/porch-system/sa/x", "", codes.OK, ""},
		"an exact name":            {certificates, nil, "porch.example.org", "", codes.OK, ""},
		"a longer name":            {certificates, nil, "porch.example.org.evil.org", "", codes.PermissionDenied, "the client certificate for porch.example.org.evil.org may not call"},
		"a token":                  {tokens, knows(user), "", good, codes.OK, ""},
		"an audience as a string":  {tokens, knows(user), "", jwt(soon, `"krmfn"`, "a"), codes.OK, ""},
		"an account by prefix":     {tokens, knows("system:serviceaccount:tools:x"), "", good, codes.OK, ""},
		"another account":          {tokens, knows("system:serviceaccount:porch-system:porch-server2"), "", good, codes.PermissionDenied, "the service account porch-system/porch-server2 may not call"},
		"a user":                   {tokens, knows("admin"), "", good, codes.Unauthenticated, "it is not a service account token"},
		"another audience":         {tokens, knows(user), "", jwt(soon, `["api"]`, "a"), codes.Unauthenticated, "it is not for the audience krmfn"},
		"an unchecked audience":    {tokens, ignoresAudiences, "", good, codes.Unauthenticated, "does not accept it for the audience krmfn"},
		"an expired token":         {tokens, knows(user), "", jwt(time.Now().Add(-time.Minute), `["krmfn"]`, "a"), codes.Unauthenticated, "it expired at "},
		"a forged token":           {tokens, refuses, "", good, codes.Unauthenticated, "the Kubernetes API server does not accept it"},
		"no token":                 {tokens, knows(user), "", "rubbish", codes.Unauthenticated, "want a JSON Web Token"},
		"nothing":                  {tokens, knows(user), "", "", codes.Unauthenticated, "send a token for the audience krmfn"},
		"a failing review":         {tokens, fails, "", good, codes.Unavailable, "could not be checked: create TokenReview: no answer"},
		"both, with a certificate": {both, fails, "porch.example.org", "", codes.OK, ""},
		"both, with a token":       {both, knows(user), "elsewhere", good, codes.OK, ""},
		"neither":                  {both, knows(user), "elsewhere", "", codes.PermissionDenied, "the client certificate for elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			reader := sdkmetric.NewManualReader()
			g, err := New(tc.flags, tc.cluster, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			err = g.Permit(call(t, tc.certificate, tc.token), "/service/Method")
			if status.Code(err) != tc.code || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Permit() = %v, want %v %s", err, tc.code, tc.want)
			}
			if refusals(t, reader) != (err != nil) || strings.Contains(log.String(), "a call was refused") != (err != nil) {
				t.Errorf("Permit() = %v; the metric or the log does not match: %q", err, log.String())
			}
			if tc.token != "" && (strings.Contains(log.String(), tc.token) || err != nil && strings.Contains(err.Error(), tc.token)) {
				t.Errorf("the token is in the error or the log: %v, %s", err, log.String())
			}
		})
	}
}

// refusals reports whether the metric counts a rejection.
func refusals(t *testing.T, reader *sdkmetric.ManualReader) bool {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	return len(data.ScopeMetrics) > 0 && data.ScopeMetrics[0].Metrics[0].Name == "krm_calls_refused"
}

// A token is reviewed once a minute, a rejected one every ten seconds. Concurrent calls with the same token cause one review.
func TestTokensAreCached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := knows("system:serviceaccount:n:a")
		tokens := newTokens(c, "krmfn")
		asked := func(token string, want int64, ok bool) {
			t.Helper()
			if _, err := tokens.account(t.Context(), token); (err == nil) != ok || c.asked.Load() != want {
				t.Errorf("%d reviews, want %d; account() error = %v", c.asked.Load(), want, err)
			}
		}
		token := jwt(time.Now().Add(90*time.Second), `["krmfn"]`, "a")
		asked(token, 1, true)
		asked(token, 1, true)
		time.Sleep(validTTL)
		asked(token, 2, true)
		time.Sleep(31 * time.Second)
		asked(token, 2, false) // it has expired
		accepted := c.status
		c.status = func(string) (authenticationv1.TokenReviewStatus, error) {
			return authenticationv1.TokenReviewStatus{}, nil
		}
		other := jwt(time.Now().Add(time.Hour), `["krmfn"]`, "b")
		asked(other, 3, false)
		asked(other, 3, false)
		c.status = accepted
		time.Sleep(invalidTTL)
		asked(other, 4, true)
		c.status = func(token string) (authenticationv1.TokenReviewStatus, error) {
			time.Sleep(time.Second)
			return accepted(token)
		}
		var calls sync.WaitGroup
		third := jwt(time.Now().Add(time.Hour), `["krmfn"]`, "c")
		for range 100 {
			calls.Go(func() { asked(third, 5, true) })
		}
		calls.Wait()
		c.status = func(string) (authenticationv1.TokenReviewStatus, error) {
			return authenticationv1.TokenReviewStatus{}, errors.New("no")
		}
		fourth := jwt(time.Now().Add(time.Hour), `["krmfn"]`, "d")
		asked(fourth, 6, false)
		asked(fourth, 7, false) // a failed review is not cached
	})
}

// The cache is bounded.
func TestTokenCacheIsBounded(t *testing.T) {
	t.Parallel()
	tokens := newTokens(knows("system:serviceaccount:n:a"), "krmfn")
	for i := range maxTokens + 100 {
		if _, err := tokens.account(t.Context(), jwt(time.Now().Add(time.Hour), `["krmfn"]`, strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if n := tokens.cache.Len(); n != maxTokens {
		t.Errorf("%d tokens cached, want %d", n, maxTokens)
	}
}

func TestNoReviewer(t *testing.T) {
	t.Parallel()
	if _, err := New(Flags{Audience: "krmfn"}, nil, noop.NewMeterProvider(), slog.Default()); err == nil {
		t.Error("New() with an audience and without a reviewer = nil, want an error")
	}
}

func FuzzClaims(f *testing.F) {
	f.Add(jwt(time.Unix(1e9, 0), `["a"]`, "n"))
	f.Add(jwt(time.Unix(1e9, 0), `"a"`, "n"))
	f.Add("..")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseClaims(text)
		if err == nil && (c.Expiry.Year() > 9999 || c.Expiry.Before(time.Unix(0, 0))) {
			t.Errorf("Expiry = %v", c.Expiry)
		}
	})
}
