// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package ociimage makes container images from files of this machine.
package ociimage

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Files are what a layer holds: paths in the image, without the leading slash, and what is there.
type Files map[string]File

// File is an executable copy of the file Source, a symbolic link, or a directory that everybody may write to where both are
// empty. Mode is that of a copy; 0 for 0755.
type File struct {
	Source, Link string
	Mode         int64
}

// Layer packs files, sorted by path and without times, so that the same files give the same digest.
func Layer(files Files) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, dir := range parents(files) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := write(w, name, files[name]); err != nil {
			return nil, fmt.Errorf("layer: %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buf.Bytes())), nil
	}, tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
}

// parents are the directories that files are in, each behind its own parent.
func parents(files Files) []string {
	dirs := make(map[string]bool)
	for name := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

func write(w *tar.Writer, name string, f File) error {
	if f.Link != "" {
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: f.Link, Mode: 0o777})
	}
	if f.Source == "" {
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o1777})
	}
	data, err := os.ReadFile(f.Source)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: cmp.Or(f.Mode, 0o755), Size: int64(len(data))}); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// Image makes an image for Linux on an architecture.
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
