// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// discardLog discards the TLS errors of test servers.
var discardLog = slog.NewLogLogger(slog.DiscardHandler, 0)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a registry that records requests. A test can replace its responses.
type server struct {
	// host is the registry's host and port, for references.
	host      string
	transport http.RoundTripper

	mu       sync.Mutex
	requests []*http.Request
	// instead handles a request, or returns false to pass it to the registry.
	instead func(http.ResponseWriter, *http.Request) bool
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	inner := ociregistry.New(ociregistry.Logger(discardLog))
	outer := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		instead := s.instead
		s.mu.Unlock()
		if instead == nil || !instead(w, r) {
			inner.ServeHTTP(w, r)
		}
	}))
	outer.Config.ErrorLog = discardLog
	outer.StartTLS()
	t.Cleanup(outer.Close)
	s.host = strings.TrimPrefix(outer.URL, "https://")
	s.transport = outer.Client().Transport
	return s
}

// local returns a transport that connects to 127.0.0.1 for all host names.
func (s *server) local(t *testing.T) *http.Transport {
	t.Helper()
	transport, ok := s.transport.(*http.Transport)
	if !ok {
		t.Fatalf("transport = %T", s.transport)
	}
	transport = transport.Clone()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// answer replaces the registry's responses. Nil restores them.
func (s *server) answer(instead func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instead = instead
}

// asked returns the methods and paths of requests since the last call, without the repository.
func (s *server) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, r := range s.requests {
		_, path, _ := strings.Cut(r.URL.Path, "/v2/")
		path = strings.TrimPrefix(path, "team/fn/")
		if kind, _, found := strings.Cut(path, "/sha256:"); found {
			path = kind + "/sha256"
		}
		all = append(all, strings.TrimSpace(r.Method+" "+path))
	}
	s.requests = nil
	return all
}

func (s *server) client(options registry.Options) *registry.Client {
	options.Transport = s.transport
	return registry.NewClient(options)
}

// push uploads an image or index to team/fn and returns its digest.
func (s *server) push(t *testing.T, tag string, what remote.Taggable) string {
	t.Helper()
	ref, err := name.NewTag(s.ref(tag))
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	kept := s.instead
	s.instead = nil
	s.mu.Unlock()
	option := remote.WithTransport(s.transport)
	switch what := what.(type) {
	case v1.ImageIndex:
		err = remote.WriteIndex(ref, what, option)
	case v1.Image:
		err = remote.Write(ref, what, option)
	default:
		err = remote.Put(ref, what, option)
	}
	if err != nil {
		t.Fatal(err)
	}
	raw, err := what.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	digest, _, err := v1.SHA256(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	s.answer(kept)
	s.asked()
	return digest.String()
}

func (s *server) ref(tag string) string { return s.host + "/team/fn:" + tag }

// newImage returns an image for a platform such as "linux/amd64". With "", the config has no platform.
func newImage(t *testing.T, platform string, config v1.Config) v1.Image {
	t.Helper()
	file := &v1.ConfigFile{Config: config}
	file.OS, file.Architecture, _ = strings.Cut(platform, "/")
	image, err := mutate.ConfigFile(empty.Image, file)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func runs(command ...string) v1.Config { return v1.Config{Entrypoint: command} }

// always handles requests whose path contains the given one, with a status and a body.
func always(path string, status int, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, path) {
			return false
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}
