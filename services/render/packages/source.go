// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

// Source is a tree of files. Paths in it are relative, clean and have slashes.
type Source interface {
	// Location returns the absolute path of the tree's root, with slashes.
	Location() string
	// Paths returns all regular files outside of .git directories, in any order.
	Paths() ([]string, error)
	// ReadFile returns a file's content. The error wraps fs.ErrNotExist where there is none. It may be called by several
	// goroutines at once.
	ReadFile(path string) ([]byte, error)
}

// Change is what happens to one file.
type Change struct {
	// Path is the file's path in its tree.
	Path string
	// Before is its content before; nil for a new file.
	Before []byte
	// After is its content after; nil for a file that is deleted.
	After []byte
}
