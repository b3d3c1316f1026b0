// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package signatures_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/providers/signatures"
)

// source returns fixed signatures or an error, and counts calls.
type source struct {
	mu       sync.Mutex
	attached []registry.Attached
	err      error
	asked    atomic.Int64
}

func (s *source) Attached(context.Context, string, string) ([]registry.Attached, error) {
	s.asked.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attached, s.err
}

func (s *source) set(attached []registry.Attached, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attached, s.err = attached, err
}

func image(t testing.TB) name.Digest {
	t.Helper()
	ref, err := name.NewDigest("r.io/team/fn@sha256:" + strings.Repeat("a", 64))
	check(t, err)
	return ref
}

// A digest is verified once, for all repositories and all policies with the same requirements.
func TestVerifiedOnce(t *testing.T) {
	t.Parallel()
	signer, image := newSigner(t), image(t)
	s := &source{attached: []registry.Attached{must(t)(signer.Simple(image))}}
	c := newChecker(t, s, noop.NewMeterProvider().Meter(""))
	p := parse(t, keyRule(t, signer, ""))
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if err := c.Verify(t.Context(), p, "r.io/team/fn:v1", image.DigestStr()); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	stricter := parse(t, "allow: [{prefix: r.io}]\n"+keyRule(t, signer, ""))
	for _, reference := range []string{"r.io/team/fn:v2", image.String(), "r.io/copy/fn:v1"} {
		check(t, c.Verify(t.Context(), stricter, reference, image.DigestStr()))
	}
	if n := s.asked.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	other := parse(t, keyRule(t, newSigner(t), ""))
	judge(t, c.Verify(t.Context(), other, "r.io/team/fn:v1", image.DigestStr()), image, "another key signed it")
	if n := s.asked.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// An image without a rule needs no request, and an invalid reference is not permitted.
func TestNoRule(t *testing.T) {
	t.Parallel()
	signer, s := newSigner(t), &source{}
	c := newChecker(t, s, noop.NewMeterProvider().Meter(""))
	elsewhere := parse(t, keyRule(t, signer, ", repository: r.io/team/other}, {prefix: r.io/teams, keys: [{data: "+quoted(publicKey(t, signer))+"}]"))
	for _, p := range []*policy.Policy{nil, parse(t, ""), parse(t, "signatures: []\n"), elsewhere} {
		check(t, c.Verify(t.Context(), p, "r.io/team/fn:v1", image(t).DigestStr()))
	}
	if _, ok := errors.AsType[*policy.RefusedError](c.Verify(t.Context(), elsewhere, "r.io/Team/fn", image(t).DigestStr())); !ok || s.asked.Load() != 0 {
		t.Errorf("Verify() of an invalid reference is not a RefusedError, or %d requests were sent", s.asked.Load())
	}
}

// Errors are cached for a short time. A failure of the registry is not a RefusedError.
func TestFailuresExpire(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	p := parse(t, keyRule(t, signer, ""))
	synctest.Test(t, func(t *testing.T) {
		image, s := image(t), &source{err: errors.New("registry is down")}
		c, err := signatures.NewChecker(t.Context(), s, noop.NewMeterProvider().Meter(""))
		check(t, err)
		defer c.Close()
		verify := func() error { return c.Verify(t.Context(), p, image.String(), image.DigestStr()) }
		for range 3 {
			unreadable, ok := errors.AsType[*signatures.UnreadableError](verify())
			if !ok || unreadable.Error() != "read the signatures of "+image.String()+": registry is down" {
				t.Errorf("Verify() = %v, want an UnreadableError", unreadable)
			}
		}
		s.set(nil, nil)
		time.Sleep(6 * time.Second)
		for range 3 {
			judge(t, verify(), image, "none was found")
		}
		s.set([]registry.Attached{must(t)(signer.Simple(image))}, nil)
		time.Sleep(6 * time.Second)
		check(t, verify())
		if n := s.asked.Load(); n != 3 {
			t.Errorf("%d requests, want 3", n)
		}
	})
}

// If the caller's context has ended, Verify returns at once.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	c := newChecker(t, sourceFunc(func(ctx context.Context) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return context.Cause(ctx)
	}), noop.NewMeterProvider().Meter(""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Verify(ctx, parse(t, keyRule(t, newSigner(t), "")), "r.io/team/fn", image(t).DigestStr()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type sourceFunc func(context.Context) error

func (f sourceFunc) Attached(ctx context.Context, _, _ string) ([]registry.Attached, error) {
	return nil, f(ctx)
}

func TestDurations(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("")
	signer, image := newSigner(t), image(t)
	s := &source{attached: []registry.Attached{must(t)(signer.Simple(image))}}
	c := newChecker(t, s, meter)
	check(t, c.Verify(t.Context(), parse(t, keyRule(t, signer, "")), image.String(), image.DigestStr()))
	judge(t, c.Verify(t.Context(), parse(t, keyRule(t, newSigner(t), "")), image.String(), image.DigestStr()), image, "another key")
	s.set(nil, errors.New("registry is down"))
	if err := c.Verify(t.Context(), parse(t, keyRule(t, newSigner(t), "")), image.String(), image.DigestStr()); err == nil {
		t.Error("Verify() during an outage = nil, want an error")
	}
	var all metricdata.ResourceMetrics
	check(t, reader.Collect(t.Context(), &all))
	got := map[string]uint64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		histogram, ok := m.Data.(metricdata.Histogram[float64])
		if !ok || m.Name != "krm_image_signature_verification_duration" {
			t.Fatalf("metric = %+v", m)
		}
		for _, point := range histogram.DataPoints {
			result, _ := point.Attributes.Value("result")
			got[result.AsString()] = point.Count
		}
	}
	if len(got) != 3 || got["verified"] != 1 || got["refused"] != 1 || got["error"] != 1 {
		t.Errorf("counts by result = %v", got)
	}
}
