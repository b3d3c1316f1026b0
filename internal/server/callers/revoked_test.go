// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
)

// A token that the API server has confirmed is accepted for a minute at most, whatever happens to its service account or to the
// API server. Then it is rejected, also if the API server does not answer.
func TestTokenIsRevoked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		then func(string) (authenticationv1.TokenReviewStatus, error)
		want codes.Code
		// takes is the time until the call fails.
		takes time.Duration
	}{
		"its service account is deleted": {
			func(string) (authenticationv1.TokenReviewStatus, error) {
				return authenticationv1.TokenReviewStatus{Error: "[invalid bearer token, service account has been invalidated]"}, nil
			}, codes.Unauthenticated, 0,
		},
		"the API server is down": {
			func(string) (authenticationv1.TokenReviewStatus, error) {
				return authenticationv1.TokenReviewStatus{}, errors.New("connection refused")
			}, codes.Unavailable, 0,
		},
		"the API server hangs": {nil, codes.Unavailable, reviewTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := knows("system:serviceaccount:tools:renderer")
				gate, err := New(Flags{Audience: "krmfn", ServiceAccounts: []string{"tools/renderer"}}, api, noop.NewMeterProvider(), slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				ctx := call(t, "", jwt(time.Now().Add(time.Hour), `["krmfn"]`, "a"))
				if err := gate.Permit(ctx, "method"); err != nil {
					t.Fatal(err)
				}
				api.status = tc.then
				time.Sleep(validTTL - time.Nanosecond)
				if err := gate.Permit(ctx, "method"); err != nil {
					t.Errorf("Permit() within a minute = %v, want nil", err)
				}
				time.Sleep(time.Nanosecond)
				begin := time.Now()
				if err := gate.Permit(ctx, "method"); status.Code(err) != tc.want {
					t.Errorf("Permit() after a minute = %v, want code %v", err, tc.want)
				}
				if took := time.Since(begin); took != tc.takes {
					t.Errorf("Permit() took %v, want %v", took, tc.takes)
				}
			})
		})
	}
}
