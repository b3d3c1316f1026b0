// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallersShareALookup(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.source.set("sha256:one", nil, time.Second)
		var callers sync.WaitGroup
		ctx, leave := context.WithTimeout(b.Context(), time.Second/2)
		defer leave()
		callers.Go(func() {
			// The caller that started the lookup leaves.
			if _, err := b.Resolve(ctx, ref); !errors.Is(err, context.DeadlineExceeded) {
				b.Errorf("Resolve() = %v, want DeadlineExceeded", err)
			}
		})
		synctest.Wait()
		for range 100 {
			callers.Go(func() {
				if got, err := b.Resolve(b.Context(), ref); got != "sha256:one" || err != nil {
					b.Errorf("Resolve() = %q, %v", got, err)
				}
			})
		}
		callers.Wait()
		if asked := b.source.count(); asked != 1 {
			b.Errorf("%d requests, want 1", asked)
		}
		if _, err := b.Resolve(ctx, ref); err != nil {
			b.Errorf("Resolve() of a cached tag with an ended context = %v, want nil", err)
		}
	})
}

func TestBounds(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.source.set("sha256:one", nil, time.Second)
		ctx, leave := context.WithCancel(b.Context())
		leave()
		for i := range 300 {
			_, err := b.Resolve(ctx, fmt.Sprintf("r.io/fn:v%d", i))
			if busy := err != nil && strings.Contains(err.Error(), "at once"); i >= 256 && !busy && !errors.Is(err, context.Canceled) {
				b.Errorf("Resolve() = %v", err)
			}
		}
		synctest.Wait()
		if asked := b.source.count(); asked != 256 {
			b.Errorf("%d concurrent requests, want 256", asked)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		b.resolves("sha256:one", time.Second, 1)
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.resolves("sha256:one", 0, 1)
		b.source.set("", nil, time.Hour)
		time.Sleep(5 * time.Minute)
		b.resolves("sha256:one", 0, 1)
		b.source.lingers = time.Second
		begin := time.Now()
		b.Close()
		if took := time.Since(begin); took != time.Second {
			b.Errorf("Close() took %s, want 1s, until the refresh has ended", took)
		}
		b.resolves("sha256:one", 0, 0)
		b.logged()
		if _, err := b.Resolve(b.Context(), "r.io/fn:v2"); err == nil || !strings.Contains(err.Error(), "shuts down") {
			b.Errorf("Resolve() after Close = %v", err)
		}
	})
}
