// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package functions

// limitMemory does nothing, because only Linux can limit used memory instead of reserved address space.
func limitMemory(uint64) {}
