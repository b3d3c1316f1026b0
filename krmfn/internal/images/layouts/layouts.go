// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package layouts writes images to OCI layouts so that everyone who can read the index can read the blobs.
package layouts

import (
	"errors"
	"io/fs"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
)

// ReplaceImage writes an image and replaces matching images in the index.
func ReplaceImage(to layout.Path, image v1.Image, which match.Matcher, options ...layout.Option) error {
	if err := to.ReplaceImage(image, which, options...); err != nil {
		return err
	}
	return openBlobs(to)
}

// ReplaceIndex writes an index and its images, and replaces matching entries in the layout's index.
func ReplaceIndex(to layout.Path, index v1.ImageIndex, which match.Matcher, options ...layout.Option) error {
	if err := to.ReplaceIndex(index, which, options...); err != nil {
		return err
	}
	return openBlobs(to)
}

// openBlobs gives blobs the read permissions of the index, which follow the umask. The library creates layers as temporary files, which
// only their owner can read, and indexes with execute permission. Blobs of other owners keep their permissions.
func openBlobs(of layout.Path) (err error) {
	dir, err := os.OpenRoot(string(of))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	index, err := dir.Stat("index.json")
	if err != nil {
		return err
	}
	readers := index.Mode().Perm() & 0o444
	return fs.WalkDir(dir.FS(), "blobs", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		blob, err := entry.Info()
		if err != nil {
			return err
		}
		is := blob.Mode().Perm()
		if want := is&^0o111 | readers; want != is {
			err = dir.Chmod(file, want)
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return err
	})
}
