// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/krmfn/krmfn/internal/images/registry"
)

const denied = `{"errors":[{"code":"DENIED","message":"requested access is denied"}]}`

// kind returns the type of error that callers distinguish.
func kind(err error) string {
	var (
		missing      *registry.NotFoundError
		unauthorized *registry.UnauthorizedError
		unusable     *registry.UnusableError
		throttled    *registry.ThrottledError
	)
	switch {
	case errors.As(err, &throttled):
		return "throttled"
	case errors.As(err, &missing):
		return "not found"
	case errors.As(err, &unauthorized):
		return "unauthorized"
	case errors.As(err, &unusable):
		return "unusable"
	}
	return "other"
}

func TestErrorResponses(t *testing.T) {
	t.Parallel()
	page := "<html>\n<h1>" + strings.Repeat("an error page ", 9000) + "</h1>"
	for name, tc := range map[string]struct {
		path   string
		status int
		body   string
		kind   string
		want   string
	}{
		"no repository":  {kind: "not found", want: "NAME_UNKNOWN: Unknown name: check the image's name and its tag or digest"},
		"web server":     {path: "/manifests/", status: 404, body: page, kind: "other", want: "404 Not Found: <html>"},
		"not a registry": {path: "/v2/", status: 404, body: "nothing here", kind: "other", want: "404 Not Found: nothing here"},
		"denied":         {path: "/manifests/", status: 403, body: denied, kind: "unauthorized", want: "DENIED: requested access is denied: check the image's name and the credentials"},
		"unauthorized":   {path: "/manifests/", status: 401, kind: "unauthorized", want: "401 Unauthorized"},
		"too many":       {path: "/manifests/", status: 429, kind: "throttled", want: "wait until then, use credentials with a higher limit, or a mirror"},
		"fails":          {path: "/manifests/", status: 500, body: page, kind: "other", want: "the registry has a problem, try again later"},
		"is overloaded":  {path: "/v2/", status: 503, kind: "other", want: "the registry has a problem, try again later"},
		"long line":      {path: "/manifests/", status: 400, body: strings.ReplaceAll(page, "\n", "\r"), kind: "other", want: "error page"},
		"large response": {path: "/manifests/", status: 200, body: strings.Repeat("x", 9<<20), kind: "other", want: "response is larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			if tc.path != "" {
				s.answer(always(tc.path, tc.status, tc.body))
			}
			_, err := s.client(registry.Options{}).Digest(t.Context(), s.ref("v1"))
			if err == nil || kind(err) != tc.kind || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("Digest() = %s: %v; want %s: %s", kind(err), err, tc.kind, tc.want)
			}
			if text := err.Error(); strings.ContainsAny(text, "\n\r") || len(text) > 600 {
				t.Errorf("error %q, want one short line", text)
			}
		})
	}
}

func TestShortFailuresAreRetried(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	want := s.push(t, "v1", newImage(t, "", runs("/fn")))
	failed := false
	s.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if failed || r.Method != http.MethodHead {
			return false
		}
		failed = true
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	if got, err := s.client(registry.Options{}).Digest(t.Context(), s.ref("v1")); err != nil || got != want {
		t.Errorf("Digest() = %q, %v; want %q", got, err, want)
	}
	s.answer(always("/manifests/", http.StatusTooManyRequests, ""))
	s.asked()
	if _, err := s.client(registry.Options{}).Digest(t.Context(), s.ref("v1")); err == nil {
		t.Error("Digest() after 429 = nil, want an error")
	}
	if diff := cmp.Diff([]string{"GET", "HEAD manifests/v1"}, s.asked()); diff != "" {
		t.Errorf("requests after 429 (-want +got):\n%s", diff)
	}
}

func TestRegistryHangs(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.answer(func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	})
	_, err := s.client(registry.Options{Timeout: 50 * time.Millisecond}).Digest(t.Context(), s.ref("v1"))
	if err == nil || !strings.Contains(err.Error(), "no response from "+s.host+" within 50ms") {
		t.Errorf("Digest() = %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("the caller has left")
	s.answer(func(_ http.ResponseWriter, r *http.Request) bool {
		cancel(left)
		<-r.Context().Done()
		return true
	})
	if _, err := s.client(registry.Options{}).Digest(ctx, s.ref("v1")); !errors.Is(err, left) {
		t.Errorf("Digest() = %v, want %v", err, left)
	}
}

func TestRegistryIsDown(t *testing.T) {
	t.Parallel()
	c := registry.NewClient(registry.Options{})
	defer c.Close()
	_, err := c.Digest(t.Context(), "127.0.0.1:1/team/fn:v1")
	if err == nil || kind(err) != "other" || !strings.Contains(err.Error(), "check the registry's name, and the connection to it") {
		t.Errorf("Digest() = %v", err)
	}
}

// Concurrent callers share the first ping. If the caller that sends it leaves, the others do not get its error.
func TestCallerLeavesDuringPing(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	want := s.push(t, "v1", newImage(t, "", runs("/fn")))
	c := s.client(registry.Options{})
	arrived, once := make(chan struct{}), sync.Once{}
	s.answer(func(_ http.ResponseWriter, r *http.Request) bool {
		first := false
		once.Do(func() { first = true })
		if first {
			close(arrived)
			<-r.Context().Done()
		}
		return first
	})
	ctx, leave := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	callers.Go(func() { _, _ = c.Digest(ctx, s.ref("v1")) })
	<-arrived
	callers.Go(func() {
		if got, err := c.Digest(t.Context(), s.ref("v1")); err != nil || got != want {
			t.Errorf("Digest() = %q, %v; want %q", got, err, want)
		}
	})
	leave()
	callers.Wait()
}

// keychain has one password, which the test changes.
type keychain struct {
	mu       sync.Mutex
	password string
}

func (k *keychain) set(password string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.password = password
}

func (k *keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &authn.Basic{Username: "user", Password: k.password}, nil
}

func TestCredentialsAreReplaced(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	want := s.push(t, "v1", newImage(t, "", runs("/fn")))
	wanted, given := &keychain{password: "one"}, &keychain{password: "one"}
	s.answer(func(w http.ResponseWriter, r *http.Request) bool {
		wanted.mu.Lock()
		defer wanted.mu.Unlock()
		if _, password, _ := r.BasicAuth(); password == wanted.password {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	c := s.client(registry.Options{Keychain: given})
	for _, password := range []string{"one", "two"} {
		wanted.set(password)
		given.set(password)
		if got, err := c.Digest(t.Context(), s.ref("v1")); err != nil || got != want {
			t.Errorf("Digest() with password %s = %q, %v; want %q", password, got, err, want)
		}
	}
	given.set("secret")
	_, err := s.client(registry.Options{Keychain: given}).Digest(t.Context(), s.ref("v1"))
	if kind(err) != "unauthorized" || strings.Contains(err.Error(), "secret") {
		t.Errorf("Digest() with a wrong password = %v", err)
	}
}

// The client uses one token for all lookups of an image.
func TestTokenIsReused(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	pushed := s.push(t, "v1", newImage(t, "", runs("/fn")))
	s.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			_, _ = io.WriteString(w, `{"token":"abc"}`)
			return true
		}
		if r.Header.Get("Authorization") == "Bearer abc" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+s.host+`/token",service="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	c := s.client(registry.Options{})
	if _, err := c.Digest(t.Context(), s.ref("v1")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Image(t.Context(), s.ref("v1"), pushed); err != nil {
		t.Fatal(err)
	}
	want := []string{"GET", "GET", "HEAD manifests/v1", "GET manifests/sha256", "GET blobs/sha256"}
	if diff := cmp.Diff(want, s.asked()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// A token server counts failed attempts, and may lock the account.
func TestWrongCredentialsAreTriedOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.answer(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+s.host+`/token"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	if _, err := s.client(registry.Options{}).Digest(t.Context(), s.ref("v1")); kind(err) != "unauthorized" {
		t.Errorf("Digest() = %v, want an UnauthorizedError", err)
	}
	// The requests are a ping and one for a token.
	if asked := s.asked(); len(asked) != 2 {
		t.Errorf("requests = %q, want 2", asked)
	}
}

// A token server's response may contain a token, and the query of a redirect may be a signature. Neither is in errors.
func TestErrorsContainNoSecrets(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	answers := map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"token": func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				_, _ = io.WriteString(w, `{"refresh_token":"secret"}`)
				return true
			}
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+s.host+`/token"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "https://127.0.0.1:1/v2/x?signature=secret", http.StatusTemporaryRedirect)
			return true
		},
	}
	for name, answer := range answers {
		s.answer(answer)
		_, err := s.client(registry.Options{}).Digest(t.Context(), s.ref("v1"))
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
