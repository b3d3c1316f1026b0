// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"
)

// inGit reports whether a path lies in a .git directory, on this system or on one that the package may be copied to.
func inGit(p string) bool {
	for name := range strings.FieldsFuncSeq(p, func(r rune) bool { return r == '/' || r == '\\' }) {
		if isGit(name) {
			return true
		}
	}
	return false
}

// isGit reports whether a file system may resolve this name to .git. APFS, HFS+ and NTFS ignore case. HFS+ also ignores some
// characters. NTFS ignores trailing dots and spaces, treats the part after a colon as the name of a stream, and has the short
// name git~1. Git rejects the same names.
func isGit(name string) bool {
	name = strings.Map(func(r rune) rune {
		if ignoredByHFS(r) {
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// ignoredByHFS reports whether HFS+ ignores a character in names: zero-width joiners and direction marks.
func ignoredByHFS(r rune) bool {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return true
	}
	return false
}
