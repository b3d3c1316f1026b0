// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "debug/elf"

// IsStatic tells whether a program runs in any image for Linux: it needs no interpreter and no libraries.
func IsStatic(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}
