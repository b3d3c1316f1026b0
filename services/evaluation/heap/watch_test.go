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

func TestWatchEndsWithItsCause(t *testing.T) { //nolint:paralleltest // the memory is that of the process
	ctx, stop := Watch(t.Context(), 16<<20, errLarge)
	defer stop()
	var held [][]byte
	for range 64 {
		if ctx.Err() == nil {
			held = append(held, make([]byte, 1<<20))
		}
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, errLarge) {
		t.Errorf("cause = %v, want %v", err, errLarge)
	}
	runtime.KeepAlive(held)
}

func TestGarbageDoesNotCount(t *testing.T) { //nolint:paralleltest // the memory is that of the process
	ctx, stop := Watch(t.Context(), 16<<20, errLarge)
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
