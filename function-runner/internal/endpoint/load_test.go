// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/wrapperapi"
)

// The reported load includes the call itself, even though a wrapper server stops counting a call that ends or is rejected.
func TestReportedLoads(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handle handler
		want   []wrapperapi.Load
	}{
		"runs": {func(ctx context.Context) error {
			_ = grpc.SendHeader(ctx, metadata.Join(wrapperapi.Begun(), wrapperapi.Load{Running: 3, Waiting: 2}.Metadata()))
			return grpc.SetTrailer(ctx, wrapperapi.Load{Running: 2, Waiting: 1}.Metadata())
		}, []wrapperapi.Load{{Running: 3, Waiting: 2}, {Running: 3, Waiting: 1}}},
		"refused": {func(ctx context.Context) error {
			_ = grpc.SetTrailer(ctx, metadata.Join(wrapperapi.Refusal(), wrapperapi.Load{Running: 8}.Metadata()))
			return status.Error(codes.Unavailable, "busy")
		}, []wrapperapi.Load{{Running: 9}}},
		"reports none": {func(context.Context) error { return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got []wrapperapi.Load
			e := dial(t, newServer(t, test.handle).address)
			_, _ = e.Evaluate(within(t), "image", nil, func(l wrapperapi.Load) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, l)
			})
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("loads (-want +got):\n%s", diff)
			}
		})
	}
}
