// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// busy responds to requests for a path with a status, and with a Retry-After header unless after is empty.
func busy(path string, status int, after string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, path) {
			return false
		}
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
		return true
	}
}

func throttled(t *testing.T, err error) *registry.ThrottledError {
	t.Helper()
	e, ok := errors.AsType[*registry.ThrottledError](err)
	if !ok {
		t.Fatalf("error = %v, want a ThrottledError", err)
	}
	return e
}

// All methods return the server's first response as an error. During the pause, they send no requests.
func TestThrottledRegistry(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		for name, ask := range map[string]func(c *registry.Client, s *server, pushed string) error{
			"Digest": func(c *registry.Client, s *server, _ string) error {
				_, err := c.Digest(t.Context(), s.ref("v1"))
				return err
			},
			"Image": func(c *registry.Client, s *server, pushed string) error {
				_, err := c.Image(t.Context(), s.ref("v1"), pushed)
				return err
			},
			"Tags": func(c *registry.Client, s *server, _ string) error {
				_, err := c.Tags(t.Context(), s.ref("v1"))
				return err
			},
		} {
			for _, path := range []string{"/v2/team/fn/", "/v2/"} {
				t.Run(fmt.Sprint(status, name, path), func(t *testing.T) {
					t.Parallel()
					s, other := newServer(t), newServer(t)
					pushed := s.push(t, "v1", newImage(t, "", runs("/fn")))
					other.push(t, "v1", newImage(t, "", runs("/fn")))
					s.answer(busy(path, status, "600"))
					c := s.client(registry.Options{})
					first := throttled(t, ask(c, s, pushed))
					if until := time.Until(first.Until); first.Host != s.host || until <= 5*time.Minute || until > 10*time.Minute {
						t.Errorf("ThrottledError = %+v", first)
					}
					want := s.host + " wants no more requests until " + first.Until.UTC().Format(time.RFC3339) + ": wait until then, use credentials"
					if !strings.HasPrefix(first.Error(), want) {
						t.Errorf("error = %v, want prefix %q", first, want)
					}
					s.asked()
					s.answer(nil)
					for range 3 {
						if diff := cmp.Diff(first.Until, throttled(t, ask(c, s, pushed)).Until); diff != "" {
							t.Errorf("end of the pause (-first +later):\n%s", diff)
						}
					}
					if asked := s.asked(); len(asked) > 0 {
						t.Errorf("requests during the pause = %q, want none", asked)
					}
					if err := ask(c, other, pushed); err != nil {
						t.Errorf("lookup in another registry = %v", err)
					}
				})
			}
		}
	}
}

// During the pause of a token server, it gets no requests, but the registry does.
func TestThrottledTokenServer(t *testing.T) {
	t.Parallel()
	s, tokens := newServer(t), newServer(t)
	s.push(t, "v1", newImage(t, "", runs("/fn")))
	// A token server on a loopback address is allowed only if the registry is on the same host, so use a name.
	_, port, _ := strings.Cut(tokens.host, ":")
	host := "example.com:" + port
	s.answer(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+host+`/token",service="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	tokens.answer(busy("/token", http.StatusTooManyRequests, ""))
	c := registry.NewClient(registry.Options{Transport: s.local(t)})
	for range 2 {
		_, err := c.Digest(t.Context(), s.ref("v1"))
		if e := throttled(t, err); e.Host != host {
			t.Errorf("ThrottledError = %+v, want host %s", e, host)
		}
	}
	if asked := tokens.asked(); len(asked) != 1 {
		t.Errorf("requests for a token = %q, want 1", asked)
	}
	if asked := s.asked(); len(asked) != 2 {
		t.Errorf("requests to the registry = %q, want 2", asked)
	}
}

// answers is a transport without network, for tests with synctest.
type answers struct {
	mu    sync.Mutex
	asked int
	// with contains the Retry-After header for each host.
	with map[string]string
	// waits delays all responses. Only the first one has the Retry-After header.
	waits chan struct{}
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	after, ok := a.with[r.URL.Host]
	if a.waits != nil {
		if a.asked > 1 {
			after = ""
		}
		a.mu.Unlock()
		<-a.waits
		a.mu.Lock()
	}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
	if ok {
		response.StatusCode = http.StatusTooManyRequests
		response.Header.Set("Retry-After", after)
	}
	return response, nil
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after string
		// date is the header as a date, from now.
		date time.Duration
		want time.Duration
	}{
		"none":      {want: 10 * time.Second},
		"text":      {after: "soon", want: 10 * time.Second},
		"fraction":  {after: "1.5", want: 10 * time.Second},
		"seconds":   {after: " 7 ", want: 7 * time.Second},
		"zero":      {after: "0", want: time.Second},
		"negative":  {after: "-9223372036854775808", want: time.Second},
		"an hour":   {after: "3600", want: 15 * time.Minute},
		"maximum":   {after: "9223372036854775807", want: 15 * time.Minute},
		"date":      {date: time.Minute, want: time.Minute},
		"past date": {date: -time.Minute, want: time.Second},
		"far date":  {date: 1e6 * time.Hour, want: 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				after := tc.after
				if tc.date != 0 {
					after = time.Now().UTC().Add(tc.date).Format(http.TimeFormat)
				}
				a := &answers{with: map[string]string{"r.io": after}}
				c := registry.NewClient(registry.Options{Transport: a})
				ask := func() time.Duration {
					_, err := c.Digest(t.Context(), "r.io/fn")
					return time.Until(throttled(t, err).Until)
				}
				if got := ask(); got != tc.want || a.asked != 1 {
					t.Errorf("pause %s after %d requests, want %s after 1", got, a.asked, tc.want)
				}
				time.Sleep(tc.want - time.Nanosecond)
				if got := ask(); got != time.Nanosecond || a.asked != 1 {
					t.Errorf("pause %s and %d requests just before the end, want 1ns and 1", got, a.asked)
				}
				time.Sleep(time.Nanosecond)
				if ask(); a.asked != 2 {
					t.Errorf("%d requests after the end, want 2", a.asked)
				}
			})
		})
	}
}

// A later response with a shorter pause does not shorten the pause.
func TestLongestPauseCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &answers{with: map[string]string{"r.io": "60"}, waits: make(chan struct{})}
		c := registry.NewClient(registry.Options{Transport: a})
		var callers sync.WaitGroup
		for i := range 10 {
			callers.Go(func() {
				_, err := c.Digest(t.Context(), fmt.Sprintf("r.io/fn%d", i))
				_ = throttled(t, err)
			})
		}
		synctest.Wait()
		close(a.waits)
		callers.Wait()
		_, err := c.Digest(t.Context(), "r.io/fn")
		if got := time.Until(throttled(t, err).Until); got != time.Minute || a.asked != 10 {
			t.Errorf("pause %s after %d requests, want 1m0s after 10", got, a.asked)
		}
	})
}

// Pauses are remembered by host and port, and their number is limited.
func TestThrottledHosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &answers{with: map[string]string{"r.io": "900"}}
		for i := range 300 {
			a.with[fmt.Sprintf("r%d.io", i)] = "900"
		}
		c := registry.NewClient(registry.Options{Transport: a})
		ask := func(ref string, want int) {
			t.Helper()
			a.asked = 0
			_, err := c.Digest(t.Context(), ref)
			if _ = throttled(t, err); a.asked != want {
				t.Errorf("%s: %d requests, want %d", ref, a.asked, want)
			}
		}
		ask("r.io/fn", 1)
		ask("R.IO/other", 0)
		for i := range 300 {
			ask(fmt.Sprintf("r%d.io/fn", i), 1)
		}
		ask("r299.io/fn", 0)
		ask("r.io/fn", 1)
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, header := range []string{"", "5", "-1", "1e3", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "99999999999999999999"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		c := registry.NewClient(registry.Options{Transport: &answers{with: map[string]string{"r.io": header}}})
		begin := time.Now()
		_, err := c.Digest(t.Context(), "r.io/fn")
		until := throttled(t, err).Until
		if until.Sub(begin) < time.Second || time.Until(until) > 15*time.Minute {
			t.Errorf("Retry-After %q: pause until %s", header, until)
		}
	})
}
