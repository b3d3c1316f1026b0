// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package imagetest creates images for tests, without a container engine.
package imagetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Entry is an entry of a layer's tar.
type Entry struct {
	// Name may be any string. A zero Type means a file.
	Name string
	Type byte
	// Link is the target of a link.
	Link string
	// Content is the content of a file.
	Content []byte
	// Mode is the permissions. 0 means 0755.
	Mode int64
}

// Image returns an image with the given layers. If config has no platform, it is this machine's.
func Image(t testing.TB, config v1.ConfigFile, layers ...[]Entry) v1.Image {
	t.Helper()
	if config.OS == "" {
		config.OS, config.Architecture = "linux", runtime.GOARCH
	}
	image, err := mutate.ConfigFile(empty.Image, &config)
	if err != nil {
		t.Fatal(err)
	}
	for _, entries := range layers {
		content := pack(t, entries)
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
			// Compression takes most of a test's time.
			tarball.WithCompressedCaching, tarball.WithCompressionLevel(gzip.BestSpeed))
		if err != nil {
			t.Fatal(err)
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			t.Fatal(err)
		}
	}
	return image
}

func pack(t testing.TB, entries []Entry) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, e := range entries {
		header := tar.Header{Name: e.Name, Typeflag: e.Type, Linkname: e.Link, Size: int64(len(e.Content)), Mode: e.Mode}
		if header.Typeflag == 0 {
			header.Typeflag = tar.TypeReg
		}
		if header.Mode == 0 {
			header.Mode = 0o755
		}
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.Content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// Layout writes an image to an OCI layout and returns its reference, oci:DIR.
func Layout(t testing.TB, image v1.Image) string {
	t.Helper()
	dir := t.TempDir()
	path, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = path.AppendImage(image)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "oci:" + dir
}
