// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"strings"
	"testing"
)

func TestHeapIsWatched(t *testing.T) { //nolint:paralleltest // the heap is that of the process
	ended := make(chan string, 1)
	stop := watchHeap(t.Context(), 16<<20, func(message string) { ended <- message })
	held := make([]byte, 64<<20)
	if got, want := <-ended, "functions take more than 16 MiB of memory"; !strings.Contains(got, want) {
		t.Errorf("message = %q, want it to contain %q", got, want)
	}
	runtime.KeepAlive(held)
	stop()
	watchHeap(t.Context(), 1<<50, func(message string) { t.Errorf("the heap is below the limit, and the command ends: %s", message) })()
}

// The limit is known on the machines that tests run on.
func TestHeapLimit(t *testing.T) {
	t.Parallel()
	if got := heapLimit(); got < 64<<20 {
		t.Errorf("heapLimit() = %d, want the memory of this machine", got)
	}
}
