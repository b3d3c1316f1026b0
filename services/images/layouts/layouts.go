// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package layouts writes images to OCI layouts that all who can read the index can read as a whole.
package layouts

import (
	"errors"
	"io/fs"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
)

// ReplaceImage writes an image, and replaces those that match in the index.
func ReplaceImage(to layout.Path, image v1.Image, which match.Matcher, options ...layout.Option) error {
	if err := to.ReplaceImage(image, which, options...); err != nil {
		return err
	}
	return openBlobs(to)
}

// ReplaceIndex writes an index of images and these, and replaces those that match in the layout's own index.
func ReplaceIndex(to layout.Path, index v1.ImageIndex, which match.Matcher, options ...layout.Option) error {
	if err := to.ReplaceIndex(index, which, options...); err != nil {
		return err
	}
	return openBlobs(to)
}

// openBlobs lets all read the blobs who can read the index, which the umask has made as readable as other files are. The library
// makes layers as temporary files, which only their owner can read, and indexes as programs. Blobs of other owners stay as they are.
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
