// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockSuffix is the suffix of an image's lock, after the name of its directory. The lock's modification time is the last use of the
// image. Locks remain after images are removed: a process that waits for a lock must not end up with a file that other processes do not
// see.
const lockSuffix = ".lock"

// Pruned is what Prune has removed.
type Pruned struct {
	// Images are the IDs of the removed images.
	Images []string
	// Bytes is the size of their files.
	Bytes int64
	// InUse is the number of images that were not removed because a process uses them.
	InUse int
}

// Prune removes images that have not been used for the given duration, unless a process uses them. 0 means all images. It also removes
// files that killed processes have left.
func (c *Cache) Prune(unused time.Duration) (Pruned, error) {
	old := time.Now().Add(-unused)
	pruned, err := c.prune(0, func(r record) bool { return !c.used(r).After(old) })
	return pruned, errors.Join(err, c.sweep())
}

// maxUnpacking exceeds the time to unpack an image.
const maxUnpacking = time.Hour

// sweep removes partly unpacked images of processes that have exited, and references to images that were removed.
func (c *Cache) sweep() error {
	var errs []error
	entries, err := os.ReadDir(filepath.Join(c.dir, newDir))
	errs = append(errs, err)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > maxUnpacking {
			errs = append(errs, os.RemoveAll(filepath.Join(c.dir, newDir, e.Name())))
		}
	}
	entries, err = os.ReadDir(filepath.Join(c.dir, refsDir))
	errs = append(errs, err)
	for _, e := range entries {
		file := filepath.Join(c.dir, refsDir, e.Name())
		id, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if _, err := os.Stat(c.path(string(id))); err != nil {
			errs = append(errs, os.Remove(file))
		}
	}
	return errors.Join(errs...)
}

// path returns the directory of an image.
func (c *Cache) path(id string) string {
	return filepath.Join(c.dir, imagesDir, strings.TrimPrefix(id, "sha256:"))
}

// used returns the time when an image was last used.
func (c *Cache) used(r record) time.Time {
	info, err := os.Stat(c.path(r.ID) + lockSuffix)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// prune removes images that may selects, the least recently used first, until the size of the remaining ones is at most limit. limit 0
// removes all of them.
func (c *Cache) prune(limit int64, may func(record) bool) (Pruned, error) {
	dirs, err := filepath.Glob(filepath.Join(c.dir, imagesDir, "*", imageFile))
	if err != nil {
		return Pruned{}, err
	}
	var images []record
	var total int64
	for _, dir := range dirs {
		if r, err := readRecord(filepath.Dir(dir)); err == nil {
			images, total = append(images, r), total+r.Bytes
		}
	}
	slices.SortFunc(images, func(a, b record) int {
		return cmp.Or(c.used(a).Compare(c.used(b)), cmp.Compare(a.ID, b.ID))
	})
	var pruned Pruned
	for _, r := range images {
		if !may(r) || limit > 0 && total <= limit {
			continue
		}
		switch err := c.remove(r.ID); {
		case errors.Is(err, errLocked):
			pruned.InUse++
		case err != nil:
			return pruned, err
		default:
			pruned.Images, pruned.Bytes, total = append(pruned.Images, r.ID), pruned.Bytes+r.Bytes, total-r.Bytes
		}
	}
	return pruned, nil
}

// remove removes an image that no process uses. It renames it first, so that no process finds a part of it.
func (c *Cache) remove(id string) error {
	l, err := openLock(c.path(id) + lockSuffix)
	if err != nil {
		return err
	}
	defer l.close()
	if err := l.try(unix.LOCK_EX); err != nil {
		return err
	}
	gone, err := os.MkdirTemp(filepath.Join(c.dir, newDir), "gone-*")
	if err != nil {
		return err
	}
	if err := os.Rename(c.path(id), filepath.Join(gone, rootDir)); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}
