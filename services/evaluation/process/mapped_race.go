// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package process

// mappedUnused is what a program of Go maps and does not use. The race detector maps more for each of its threads than a program that it
// does not watch has in all, and where the function runner has it, its functions may have it, too.
const mappedUnused = 1 << 30
