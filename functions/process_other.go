// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package functions

// limitMemory does nothing: only Linux counts the memory that a process has, and not the address space it has reserved.
func limitMemory(uint64) {}
