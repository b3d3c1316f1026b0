// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package heap

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errLarge = errors.New("too large")

func TestWatchesEndWithTheirCause(t *testing.T) { //nolint:paralleltest // tests share the process's heap
	growth, stop := WatchGrowth(t.Context(), 16<<20, errLarge)
	defer stop()
	total, stop := WatchSize(t.Context(), size()+16<<20, errLarge)
	defer stop()
	held := make([]byte, 64<<20)
	for name, ctx := range map[string]context.Context{"growth": growth, "size": total} {
		<-ctx.Done()
		if err := context.Cause(ctx); !errors.Is(err, errLarge) {
			t.Errorf("%s: cause = %v, want %v", name, err, errLarge)
		}
	}
	runtime.KeepAlive(held)
}

// Memory that the garbage collector can free is not growth.
func TestWatchGrowthIgnoresGarbage(t *testing.T) { //nolint:paralleltest // tests share the process's heap
	ctx, stop := WatchGrowth(t.Context(), 16<<20, errLarge)
	var last []byte
	for range 200 {
		last = make([]byte, 1<<20)
	}
	if err := context.Cause(ctx); err != nil || len(last) == 0 {
		t.Errorf("cause = %v, want nil", err)
	}
	stop()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cause after stop = %v, want %v", err, context.Canceled)
	}
}
