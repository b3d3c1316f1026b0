// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"fmt"
	"runtime"
	"runtime/metrics"
)

// heapGrowth tells whether the heap of the process has grown beyond a limit. Whatever else the process does meanwhile
// counts too. Its methods may be called concurrently.
type heapGrowth struct {
	start, limit uint64 // bytes
}

func newHeapGrowth(limit uint64) *heapGrowth {
	return &heapGrowth{start: heapSize(), limit: limit}
}

// exceedsWith tells it for a heap that is yet to grow by some more bytes. It makes sure that it is not garbage that the
// heap has grown by: the caller waits for the collection, and so takes no more meanwhile.
func (g *heapGrowth) exceedsWith(more uint64) bool {
	if heapSize()+more <= g.start+g.limit {
		return false
	}
	runtime.GC()
	return heapSize()+more > g.start+g.limit
}

// surelyExceeds needs no collection. The collector lets the heap grow to twice what is live (GOGC=100), so beyond that
// it is not garbage alone.
func (g *heapGrowth) surelyExceeds() bool {
	return heapSize() > 2*(g.start+g.limit)
}

func (g *heapGrowth) error() error {
	return fmt.Errorf("the script takes more than %d MiB of memory, the most it may", g.limit>>20)
}

// heapSize is the size in bytes of all objects, garbage that is not yet collected included.
func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
