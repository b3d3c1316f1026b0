// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/krmfn/krmfn/internal/images/policy"
)

const head = "apiVersion: krmfn.dev/v1alpha1\nkind: ImagePolicy\n"

var good, bad = "sha256:" + strings.Repeat("a", 64), "sha256:" + strings.Repeat("b", 64)

// source is a fake registry that records the references.
type source struct {
	digest string
	asked  []string
}

func (s *source) Resolve(_ context.Context, reference string) (string, error) {
	s.asked = append(s.asked, reference)
	if s.digest == "" {
		return "", errors.New("registry is down")
	}
	return s.digest, nil
}

// verifier rejects all images as unsigned if it is true.
type verifier bool

func (v verifier) Verify(_ context.Context, _ *policy.Policy, reference, _ string) error {
	if v {
		return &policy.RefusedError{Image: reference, Reason: "it is not signed"}
	}
	return nil
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy, digest, reference string
		asked                     bool
		want                      string
		unsigned                  bool
	}{
		"no policy":            {digest: bad, reference: "r.io/x:latest", asked: true},
		"permitted":            {policy: "allow: [{prefix: r.io}]", digest: bad, reference: "r.io/x:v1", asked: true},
		"refused":              {policy: "allow: [{prefix: r.io}]", digest: good, reference: "evil.io/x:v1", want: "evil.io/x"},
		"floating":             {policy: "floatingTags: refuse", digest: good, reference: "r.io/x:latest", want: "can move"},
		"digest permitted":     {policy: "allow: [{digest: '" + good + "'}]", digest: good, reference: "r.io/x:v1", asked: true},
		"digest refused":       {policy: "allow: [{digest: '" + good + "'}]", digest: bad, reference: "r.io/x:v1", asked: true, want: "not permitted"},
		"given digest refused": {policy: "allow: [{digest: '" + good + "'}]", digest: bad, reference: "r.io/x@" + bad, want: "not permitted"},
		"not signed":           {policy: "floatingTags: allow", digest: good, reference: "r.io/x:v1", asked: true, want: "not signed", unsigned: true},
		"signed or not":        {digest: good, reference: "r.io/x:v1", asked: true, unsigned: true},
		"registry is down":     {policy: "allow: [{prefix: r.io}]", reference: "r.io/x:v1", asked: true, want: "registry is down"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &source{digest: tc.digest}
			r := policyResolverOf(t, s, verifier(tc.unsigned), tc.policy, slog.New(slog.DiscardHandler))
			got, err := r.Resolve(t.Context(), tc.reference)
			if len(s.asked) > 0 != tc.asked {
				t.Errorf("requests to the registry = %q, want some: %v", s.asked, tc.asked)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("Resolve() = %q, %v, want an error with %q", got, err, tc.want)
			}
			if tc.want == "" && (err != nil || got != tc.digest) {
				t.Errorf("Resolve() = %q, %v, want %q", got, err, tc.digest)
			}
		})
	}
}

func TestFloatingTagsAreWarnedOfOnce(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	r := policyResolverOf(t, &source{digest: good}, false, "floatingTags: warn", slog.New(slog.NewTextHandler(&text, nil)))
	for _, reference := range []string{"r.io/x:latest", "r.io/x:latest", "r.io/x:v1.2.3", "r.io/y"} {
		if _, err := r.Resolve(t.Context(), reference); err != nil {
			t.Error(err)
		}
	}
	var warned []string
	for line := range strings.Lines(text.String()) {
		_, after, _ := strings.Cut(line, "image=")
		reference, _, _ := strings.Cut(after, " ")
		warned = append(warned, reference)
	}
	if diff := cmp.Diff([]string{"r.io/x:latest", "r.io/y"}, warned); diff != "" {
		t.Errorf("references with a warning (-want +got):\n%s", diff)
	}
}

func policyResolverOf(t *testing.T, s digestSource, unsigned verifier, text string, log *slog.Logger) *policyResolver {
	t.Helper()
	var parsed *policy.Policy
	if text != "" {
		var err error
		if parsed, err = policy.Parse([]byte(head + text)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := newPolicyResolver(s, unsigned, func() *policy.Policy { return parsed }, metricnoop.NewMeterProvider().Meter(""), log)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Rejections are counted by the rule of the policy.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	parsed, err := policy.Parse([]byte(head + "allow: [{prefix: r.io}]\nfloatingTags: refuse\n"))
	if err != nil {
		t.Fatal(err)
	}
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("")
	r, err := newPolicyResolver(&source{digest: good}, verifier(false), func() *policy.Policy { return parsed }, meter, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, reference := range []string{"r.io/x:v1.0.0", "evil.io/x:v1.0.0", "evil.io/y:v1.0.0", "r.io/x:latest", "r.io/x@" + good, "no reference"} {
		_, _ = r.Resolve(t.Context(), reference)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, point := range all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints { //nolint:forcetypeassert // it panics otherwise
		rule, _ := point.Attributes.Value(attribute.Key("rule"))
		got[rule.AsString()] = point.Value
	}
	want := map[string]int64{"allow": 2, "floating_tags": 1, "reference": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}
