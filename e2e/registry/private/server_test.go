// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package private_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/krmfn/krmfn/e2e/registry/private"
)

// get looks up an image with a password. The client trusts one authority.
func get(t *testing.T, reference, password string, trusted *private.Authority) (string, error) {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted.PEM)
	client := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer client.CloseIdleConnections()
	found, err := remote.Head(ref, remote.WithContext(t.Context()), remote.WithTransport(client), remote.WithRetryBackoff(remote.Backoff{Steps: 1}),
		remote.WithAuth(&authn.Basic{Username: "user", Password: password}))
	if err != nil {
		return "", err
	}
	return found.Digest.String(), nil
}

func status(err error) int {
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		return answer.StatusCode
	}
	return 0
}

func TestServer(t *testing.T) {
	t.Parallel()
	for name, bearer := range map[string]bool{"basic": false, "bearer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			authority := newAuthority(t)
			s, err := private.Start(t.Context(), "127.0.0.1", authority, private.Login{User: "user", Password: "one", Bearer: bearer})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			reference, digest, err := s.Push(t.Context(), "team/fn:v1", empty.Image)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := get(t, reference, "one", authority); got != digest || err != nil {
				t.Errorf("get() = %q, %v, want %q", got, err, digest)
			}
			var refused atomic.Int64
			s.OnRefusal(func(*http.Request) { refused.Add(1) })
			if _, err := get(t, reference, "wrong", authority); status(err) != http.StatusUnauthorized {
				t.Errorf("get() with a wrong password: error = %v, want status 401", err)
			}
			if refused.Load() == 0 {
				t.Error("OnRefusal's function was not called")
			}
			s.SetLogin(private.Login{User: "user", Password: "two", Bearer: bearer})
			if _, err := get(t, reference, "one", authority); status(err) != http.StatusUnauthorized {
				t.Errorf("get() with the previous password: error = %v, want status 401", err)
			}
			s.SetFault(private.RateLimit)
			if _, err := get(t, reference, "two", authority); status(err) != http.StatusTooManyRequests {
				t.Errorf("get() with the fault RateLimit: error = %v, want status 429", err)
			}
			s.SetFault(private.Truncate)
			if _, err := get(t, reference, "two", authority); err == nil {
				t.Error("get() with the fault Truncate succeeded, want an error")
			}
			s.SetFault(private.NoFault)
			if got, err := get(t, reference, "two", authority); got != digest || err != nil {
				t.Errorf("get() = %q, %v, want %q", got, err, digest)
			}
			if n := s.Requests(); n < 6 {
				t.Errorf("Requests() = %d, want at least 6", n)
			}
		})
	}
}

func TestAuthorities(t *testing.T) {
	t.Parallel()
	first, second := newAuthority(t), newAuthority(t)
	s, err := private.Start(t.Context(), "127.0.0.1", first, private.Login{User: "user", Password: "one"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	reference, _, err := s.Push(t.Context(), "team/fn:v1", empty.Image)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, reference, "one", second); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Errorf("get() with an untrusted authority: error = %v, want an x509 error", err)
	}
	if err := s.SetAuthority(second); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, reference, "one", second); err != nil {
		t.Errorf("get() with the new authority: %v", err)
	}
}

func TestCloseEndsHungRequests(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	s, err := private.Start(t.Context(), "127.0.0.1", authority, private.Login{})
	if err != nil {
		t.Fatal(err)
	}
	s.SetFault(private.Hang)
	ended := make(chan error, 1)
	go func() {
		_, err := get(t, s.Address+"/team/fn:v1", "", authority)
		ended <- err
	}()
	for s.Requests() == 0 {
		select {
		case err := <-ended:
			t.Fatalf("the request ended before the registry had it: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	s.Close()
	if err := <-ended; err == nil {
		t.Error("the request succeeded, want an error")
	}
}

func newAuthority(t *testing.T) *private.Authority {
	t.Helper()
	authority, err := private.NewAuthority("authority of " + t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return authority
}
