// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/function-runner/options"
)

// The last function runner skips the shutdown delay, because its callers have no other replica.
func TestShutdownDelay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		last func(context.Context) bool
		want time.Duration
	}{
		"unknown": {nil, 5 * time.Second},
		"others":  {func(context.Context) bool { return false }, 5 * time.Second},
		"last":    {func(context.Context) bool { return true }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := options.Default()
				o.Exec.Config, o.ShutdownDelay = "", 5*time.Second
				r, err := New(t.Context(), Config{Options: o, Pods: &noPods{}, Last: test.last, Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error, 1)
				var listener net.Listener = bufconn.Listen(1 << 16)
				go func() { served <- r.Serve(ctx, listener) }()
				synctest.Wait()
				begin := time.Now()
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took != test.want {
					t.Errorf("the shutdown took %v, want %v", took, test.want)
				}
			})
		})
	}
}
