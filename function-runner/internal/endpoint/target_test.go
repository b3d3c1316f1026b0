// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/internal/wrapperapi"
)

// Requests name the pod that they are addressed to. A pod that has taken over another pod's address reports neither readiness nor runs
// the call.
func TestPodWithTheAddressOfAnother(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		target wrapperapi.Target
		wrong  bool
	}{
		"the pod":          {mine, false},
		"another pod":      {wrapperapi.Target{PodUID: "2", Function: mine.Function}, true},
		"another function": {wrapperapi.Target{PodUID: mine.PodUID, Function: "other"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.options = []grpc.ServerOption{grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
					if md, _ := metadata.FromIncomingContext(ctx); !tc.target.Matches(wrapperapi.TargetOf(md)) {
						_ = grpc.SetTrailer(ctx, wrapperapi.Misdirection())
						return nil, status.Error(codes.Unavailable, "meant for another pod")
					}
					return handle(ctx, req)
				})}
				e := dialSimulated(t, s)
				if err := e.Ready(within(t)); errors.Is(err, endpoint.ErrWrongPeer) != tc.wrong || (err != nil) != tc.wrong {
					t.Errorf("Ready() = %v, want ErrWrongPeer: %v", err, tc.wrong)
				}
				if _, err := e.Evaluate(within(t), "image", nil, ignore); errors.As(err, new(*endpoint.NotRunError)) != tc.wrong || (err != nil) != tc.wrong {
					t.Errorf("Evaluate() error = %v, want a NotRunError: %v", err, tc.wrong)
				}
			})
		})
	}
}
