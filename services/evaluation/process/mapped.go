// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package process

// mappedUnused is what a program of Go maps and does not use.
const mappedUnused = 64 << 20
