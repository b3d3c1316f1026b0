// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io/fs"
	"os"
	"path/filepath"
)

// scratchPattern names the scratch directories; the reaper knows orphans by it.
const scratchPattern = "krm-function-*"

// makeScratch makes the empty directory that a function gets as TMPDIR. Functions share a file system, and what one call
// leaves behind must not reach the next.
func makeScratch(root string) (string, error) {
	return os.MkdirTemp(root, scratchPattern)
}

// removeScratch removes it with all that is in it.
func removeScratch(dir string) {
	// Most functions leave nothing, and then one call is enough.
	if os.Remove(dir) == nil || os.RemoveAll(dir) == nil {
		return
	}
	// A function may have taken away its own permissions.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory needs its x bit to be emptied
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
