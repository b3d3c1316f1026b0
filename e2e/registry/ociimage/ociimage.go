// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package ociimage builds container images from files on this machine.
package ociimage

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"testing/fstest"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Files maps paths in the image, without a leading slash, to the content of a layer.
type Files map[string]File

// File is a copy of the file Source, a symbolic link to Link, or, if both are empty, a directory that all users can write to. Mode is the
// mode of a copy; the default is 0755.
type File struct {
	Source, Link string
	Mode         fs.FileMode
}

// Layer creates a layer from files. Entries are sorted by path and have no timestamps, so that the same files result in the same digest.
func Layer(files Files) (v1.Layer, error) {
	contents := make(fstest.MapFS)
	for name, f := range files {
		file, err := f.content()
		if err != nil {
			return nil, fmt.Errorf("layer: %s: %w", name, err)
		}
		contents[name] = file
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, given := files[dir]; !given {
				contents[dir] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			}
		}
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := errors.Join(w.AddFS(contents), w.Close()); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buf.Bytes())), nil
	}, tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
}

func (f File) content() (*fstest.MapFile, error) {
	switch {
	case f.Link != "":
		return &fstest.MapFile{Data: []byte(f.Link), Mode: fs.ModeSymlink | 0o777}, nil
	case f.Source == "":
		return &fstest.MapFile{Mode: fs.ModeDir | fs.ModeSticky | 0o777}, nil
	}
	data, err := os.ReadFile(f.Source)
	return &fstest.MapFile{Data: data, Mode: cmp.Or(f.Mode, 0o755)}, err
}

// Image creates a Linux image for an architecture.
func Image(arch string, config v1.Config, layers ...v1.Layer) (v1.Image, error) {
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	file.OS, file.Architecture, file.Config = "linux", arch, config
	return mutate.ConfigFile(img, file)
}
