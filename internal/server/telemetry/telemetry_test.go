// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type exporterFunc func(ctx context.Context) error

func (f exporterFunc) Shutdown(ctx context.Context) error { return f(ctx) }

// An exporter that hangs delays a shutdown by FlushTimeout, and the other exporters not at all.
func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]time.Duration{0: defaultFlushTimeout, time.Second: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var other time.Duration
			tel := &Telemetry{FlushTimeout: limit, Exporters: []Exporter{
				exporterFunc(func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				}),
				exporterFunc(func(context.Context) error {
					other = time.Since(begin)
					return nil
				}),
			}}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := tel.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown() = %v, want %v", err, context.DeadlineExceeded)
			}
			if took := time.Since(begin); took != want || other != 0 {
				t.Errorf("FlushTimeout %v: Shutdown() took %v, the other exporter waited %v; want %v and 0", limit, took, other, want)
			}
		})
	}
}
