// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source returns fixed tags or an error after a delay, and counts lookups.
type source struct {
	mu    sync.Mutex
	tags  []string
	err   error
	takes time.Duration
	asked []string
}

func (s *source) Tags(ctx context.Context, repository string) ([]string, error) {
	s.mu.Lock()
	s.asked = append(s.asked, repository)
	takes := s.takes
	s.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tags, s.err
}

func (s *source) set(takes time.Duration, err error, tags ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes, s.err, s.tags = takes, err, tags
}

func (s *source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &source{}
		c := NewCache(t.Context(), s, slog.New(slog.NewTextHandler(&log, nil)))
		defer c.Close()
		down := errors.New("down")
		check := func(what string, err error, asked int, takes time.Duration, want ...string) {
			t.Helper()
			begin := time.Now()
			got, gotErr := c.Tags(t.Context(), "r.io/x")
			if diff := cmp.Diff(want, got); diff != "" || !errors.Is(gotErr, err) || s.count() != asked || time.Since(begin) != takes {
				t.Errorf("%s: error %v, %d lookups, took %v (-want +got):\n%s", what, gotErr, s.count(), time.Since(begin), diff)
			}
		}
		s.set(time.Second, down)
		check("failure", down, 1, time.Second)
		check("cached failure", down, 1, 0)
		time.Sleep(11 * time.Second)
		s.set(time.Second, nil, "v1")
		check("first success", nil, 2, time.Second, "v1")
		s.set(time.Second, nil, "v2")
		time.Sleep(5*time.Minute - 2*time.Second)
		check("cached", nil, 2, 0, "v1")
		time.Sleep(3 * time.Second)
		check("expired", nil, 3, time.Second, "v2")
		time.Sleep(6 * time.Minute)
		s.set(time.Minute, nil, "v3")
		check("slow lookup", nil, 4, 2*time.Second, "v2")
		check("outage", nil, 4, 0, "v2")
		time.Sleep(11 * time.Second)
		s.set(0, down)
		check("stale", nil, 5, 0, "v2")
		if n := strings.Count(log.String(), "cannot be listed"); n != 1 {
			t.Errorf("outage was logged %d times, want once:\n%s", n, &log)
		}
		time.Sleep(11 * time.Second)
		s.set(0, nil, "v3")
		check("after the outage", nil, 6, 0, "v3")
	})
}

// Concurrent callers share a lookup. If one leaves, the lookup continues for the others.
func TestConcurrentCallersShareALookup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		s.set(10*time.Second, nil, "v1")
		c := NewCache(t.Context(), s, slog.New(slog.DiscardHandler))
		defer c.Close()
		gone := errors.New("gone")
		leaving, leave := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Tags(leaving, "r.io/x"); !errors.Is(err, gone) {
				t.Errorf("caller that left: Tags() = %v, want %v", err, gone)
			}
		})
		synctest.Wait()
		for range 20 {
			wg.Go(func() {
				if got, err := c.Tags(t.Context(), "r.io/x"); err != nil || len(got) != 1 {
					t.Errorf("Tags() = %v, %v", got, err)
				}
			})
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, gone)
			defer cancel()
			if _, err := c.Tags(ctx, "r.io/x"); !errors.Is(err, gone) {
				t.Errorf("caller whose time is over: Tags() = %v, want %v", err, gone)
			}
		})
		synctest.Wait()
		if n := s.count(); n != 1 {
			t.Errorf("%d concurrent lookups, want 1", n)
		}
		leave(gone)
		wg.Wait()
		if n := s.count(); n != 1 {
			t.Errorf("%d lookups, want 1", n)
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		repositories, tags int
		kept               int
	}{
		"repositories":           {repositories: 3, tags: maxTags, kept: 3},
		"tags":                   {repositories: maxRepositories, tags: 8, kept: 4},
		"tags of one repository": {repositories: maxRepositories, tags: 1, kept: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &source{tags: []string{"v1", "v2"}}
			c := newCache(t.Context(), s, slog.New(slog.DiscardHandler), tc.repositories, tc.tags)
			defer c.Close()
			const all = 10
			for round := range 2 {
				for i := range all {
					// Iterate in reverse the second time, so that the most recently used repositories come first.
					if round == 1 {
						i = all - 1 - i
					}
					if _, err := c.Tags(t.Context(), fmt.Sprintf("r.io/%d", i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := 2*all - s.count(); got != tc.kept {
				t.Errorf("%d cached lists, want %d", got, tc.kept)
			}
		})
	}
}

func TestWithBuiltin(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	own := func(name string) []string {
		return map[string][]string{"set-namespace": {"v0.4.5", "v0.4"}}[name]
	}
	for name, tc := range map[string]struct {
		repository string
		err        error
		want       []string
	}{
		"lookup succeeds":        {"r.io/fn/set-namespace", nil, []string{"v9"}},
		"catalog prefix":         {"ghcr.io/kptdev/krm-functions-catalog/set-namespace", down, []string{"v9", "v0.4.5", "v0.4"}},
		"additional prefix":      {"r.io/fn/set-namespace", down, []string{"v9", "v0.4.5", "v0.4"}},
		"another prefix":         {"x.io/fn/set-namespace", down, []string{"v9"}},
		"not a catalog function": {"r.io/fn/other", down, []string{"v9"}},
	} {
		s := &source{tags: []string{"v9"}, err: tc.err}
		got, err := WithBuiltin(s, own, "r.io/fn").Tags(t.Context(), tc.repository)
		if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
