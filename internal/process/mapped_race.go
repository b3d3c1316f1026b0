// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package process

// mappedUnused is the amount of memory, in bytes, that the Go runtime maps without using it. With the race detector, the runtime maps
// much more for each thread. If the function runner is built with the race detector, its functions may be, too.
const mappedUnused = 1 << 30
