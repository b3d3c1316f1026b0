// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "debug/elf"

// IsStatic reports whether a program is a static ELF executable. Such a program runs in any Linux image.
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
