// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package process

// mappedUnused is the amount of memory, in bytes, that the Go runtime maps without using it.
const mappedUnused = 64 << 20
