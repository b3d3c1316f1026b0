// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package signatures_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/providers/signatures"
	"github.com/krmfn/krmfn/internal/providers/signatures/signaturetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const head = "apiVersion: krmfn.dev/v1alpha1\nkind: ImagePolicy\n"

const provenance = "https://slsa.dev/provenance/v1"

// server is a registry on this machine.
type server struct {
	host string
	// requests counts requests. down makes them fail.
	requests atomic.Int64
	down     atomic.Bool
}

func newServer(t testing.TB, referrers bool) *server {
	t.Helper()
	s := &server{}
	inner := ociregistry.New(ociregistry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)), ociregistry.WithReferrersSupport(referrers))
	http := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if s.down.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(http.Close)
	s.host = strings.TrimPrefix(http.URL, "http://")
	return s
}

// image pushes an index to the repository team/fn.
func (s *server) image(t testing.TB) name.Digest {
	t.Helper()
	index, err := random.Index(64, 1, 2)
	check(t, err)
	digest, err := index.Digest()
	check(t, err)
	ref, err := name.NewDigest(s.host + "/team/fn@" + digest.String())
	check(t, err)
	check(t, remote.WriteIndex(ref, index))
	return ref
}

// checker returns a Checker for the registry.
func (s *server) checker(t testing.TB) *signatures.Checker {
	t.Helper()
	return newChecker(t, client(t), noop.NewMeterProvider().Meter(""))
}

func client(t testing.TB) *registry.Client {
	t.Helper()
	transport := registry.NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	return registry.NewClient(registry.Options{Transport: transport})
}

func newChecker(t testing.TB, source signatures.Source, meter metric.Meter) *signatures.Checker {
	t.Helper()
	c, err := signatures.NewChecker(context.WithoutCancel(t.Context()), source, meter)
	check(t, err)
	t.Cleanup(c.Close)
	return c
}

func newSigner(t testing.TB) *signaturetest.Signer {
	t.Helper()
	s, err := signaturetest.NewSigner()
	check(t, err)
	return s
}

func publicKey(t testing.TB, s *signaturetest.Signer) string {
	t.Helper()
	text, err := s.PublicKey()
	check(t, err)
	return string(text)
}

// keyRule returns a policy in YAML with a rule for the signer's key.
func keyRule(t testing.TB, s *signaturetest.Signer, more string) string {
	t.Helper()
	return fmt.Sprintf("signatures: [{keys: [{data: %q}]%s}]\n", publicKey(t, s), more)
}

func parse(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(head + text))
	check(t, err)
	check(t, signatures.Check(p))
	return p
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB) func(registry.Attached, error) registry.Attached {
	t.Helper()
	return func(a registry.Attached, err error) registry.Attached {
		t.Helper()
		check(t, err)
		return a
	}
}
