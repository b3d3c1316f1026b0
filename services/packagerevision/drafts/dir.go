// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package drafts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/render/packages"
)

// Dir is a draft of the package in a directory. Changes stay in memory until Close writes them. Not safe for concurrent use.
type Dir struct {
	*Memory
	dir *packages.Dir
	// before holds the files as read from the directory.
	before map[string]string
}

var _ packagerevision.Draft = (*Dir)(nil)

// OpenDir returns a draft of the files below a directory, except .git directories. Close or Discard releases the directory.
func OpenDir(path string) (*Dir, error) {
	dir, err := packages.OpenDir(path)
	if err != nil {
		return nil, fmt.Errorf("open the package: %w", err)
	}
	files, err := read(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the package: %w", err), dir.Close())
	}
	return &Dir{Memory: NewMemory(files), dir: dir, before: files}, nil
}

func read(dir *packages.Dir) (map[string]string, error) {
	paths, err := dir.Paths()
	if err != nil {
		return nil, err
	}
	files := make(map[string]string, len(paths))
	for _, p := range paths {
		content, err := dir.ReadFile(p)
		if err != nil {
			return nil, err
		}
		files[p] = string(content)
	}
	return files, nil
}

// Close writes the changed files to the directory, all of them or none. After an error, the draft stays open. After a
// *packages.ChangedError, which reports that a file in the directory has changed since OpenDir, the caller must discard the
// draft and open a new one.
func (d *Dir) Close(ctx context.Context) error {
	files, err := d.Files(ctx)
	if err != nil {
		return err
	}
	if err := d.dir.Apply(changes(d.before, files)); err != nil {
		return fmt.Errorf("write the package: %w", err)
	}
	return errors.Join(d.Memory.Close(ctx), d.dir.Close())
}

// Discard ends the draft and leaves the directory unchanged.
func (d *Dir) Discard(ctx context.Context) error {
	if err := d.Memory.Discard(ctx); err != nil {
		return err
	}
	return d.dir.Close()
}

// changes returns the changes between two sets of files: writes before deletions.
func changes(before, after map[string]string) []packages.Change {
	var list []packages.Change
	for _, p := range slices.Sorted(maps.Keys(after)) {
		old, existed := before[p]
		if existed && old == after[p] {
			continue
		}
		c := packages.Change{Path: p, After: []byte(after[p])}
		if existed {
			c.Before = []byte(old)
		}
		list = append(list, c)
	}
	for _, p := range slices.Sorted(maps.Keys(before)) {
		if _, stays := after[p]; !stays {
			list = append(list, packages.Change{Path: p, Before: []byte(before[p])})
		}
	}
	return list
}
