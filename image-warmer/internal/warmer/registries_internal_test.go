// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package warmer

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/internal/images/registry"
)

func resolve(ctx context.Context, source registry.Source, references []string, parallel int, timeout time.Duration) []result {
	r := run{Config: Config{Log: slog.New(slog.DiscardHandler)}}
	r.Options.Resolve.Parallel, r.Options.Resolve.Timeout = parallel, timeout
	return r.resolve(ctx, source, references)
}

// newRegistry returns the host of a registry that has good:v1 and never answers for hung:v1.
func newRegistry(t *testing.T) string {
	t.Helper()
	inner := ociregistry.New(ociregistry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2/hung/") {
			<-r.Context().Done()
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	host := strings.TrimPrefix(server.URL, "http://")
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64", Config: v1.Config{Entrypoint: []string{"/fn"}}})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(host + "/good:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, image); err != nil {
		t.Fatal(err)
	}
	return host
}

// Hanging and failing lookups do not affect other lookups.
func TestAll(t *testing.T) {
	t.Parallel()
	host := newRegistry(t)
	client := registry.NewClient(registry.Options{})
	defer client.Close()
	results := resolve(t.Context(), client, []string{host + "/bad:v1", host + "/good:v1", host + "/hung:v1"},
		2, 2*time.Second)
	if _, ok := errors.AsType[*registry.NotFoundError](results[0].err); !ok {
		t.Errorf("bad: error = %v", results[0].err)
	}
	if good := results[1]; good.err != nil || good.image.Command[0] != "/fn" || good.image.Reference != host+"/good:v1" {
		t.Errorf("good: result = %+v", good)
	}
	if err := results[2].err; err == nil || !strings.Contains(err.Error(), "raise --lookup-timeout") {
		t.Errorf("hung: error = %v", err)
	}
}

// slow is a source that takes a second for each request, and counts concurrent requests.
type slow struct {
	mu                   sync.Mutex
	running, most, asked int
}

// begin records the start of a request, and end its end.
func (s *slow) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	s.running++
	s.most = max(s.most, s.running)
}

func (s *slow) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
}

func (s *slow) Digest(ctx context.Context, _ string) (string, error) {
	s.begin()
	defer s.end()
	select {
	case <-time.After(time.Second):
		return "sha256:1", nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (s *slow) Image(_ context.Context, ref, digest string) (registry.Image, error) {
	return registry.Image{Reference: ref, Digest: digest}, nil
}

func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, start := &slow{}, time.Now()
		resolve(t.Context(), source, make([]string, 10), 3, time.Minute)
		if source.most != 3 || time.Since(start) != 4*time.Second {
			t.Errorf("concurrent requests = %d, duration = %v", source.most, time.Since(start))
		}
	})
}

// Lookups end with the context, and no further lookup begins.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, errors.New("told to end"))
		defer cancel()
		source, start := &slow{}, time.Now()
		for _, r := range resolve(ctx, source, []string{"a", "b"}, 1, time.Minute) {
			if r.err == nil || r.err.Error() != "told to end" {
				t.Errorf("%s: error = %v, want the context's cause", r.reference, r.err)
			}
		}
		if source.asked != 1 || time.Since(start) != 500*time.Millisecond {
			t.Errorf("requests = %d in %v, want 1 in 500ms", source.asked, time.Since(start))
		}
	})
}
