// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage_test

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/internal/images/ociimage"
)

func TestLayerHasFilesBehindTheirDirectories(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(source, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	layer, err := ociimage.Layer(ociimage.Files{
		"usr/bin/program": ociimage.Copy(source, 0o755), "usr/bin/link": ociimage.Symlink("program"), "usr/bin/same": ociimage.Hardlink("usr/bin/program"),
		"etc/text": ociimage.Bytes([]byte("text"), 0o444), "tmp": ociimage.Directory(0o1777),
	})
	if err != nil {
		t.Fatal(err)
	}
	content, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	var got []string
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %o %s", header.Name, header.Mode, header.Linkname))
	}
	want := []string{"etc/ 755 ", "etc/text 444 ", "tmp/ 1777 ", "usr/ 755 ", "usr/bin/ 755 ", "usr/bin/link 777 program", "usr/bin/program 755 ", "usr/bin/same 555 usr/bin/program"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries of the layer (-want +got):\n%s", diff)
	}
}

func TestImageIsTheSameForTheSameFiles(t *testing.T) {
	t.Parallel()
	digest := func(user string) v1.Hash {
		layer, err := ociimage.Layer(ociimage.Files{"a": ociimage.Symlink("b"), "c": ociimage.Symlink("d")})
		if err != nil {
			t.Fatal(err)
		}
		img, err := ociimage.Image{
			Platform: v1.Platform{OS: "linux", Architecture: "arm64"}, Config: v1.Config{User: user}, Layers: []v1.Layer{layer},
		}.Build()
		if err != nil {
			t.Fatal(err)
		}
		file, err := img.ConfigFile()
		if err != nil || file.OS != "linux" || file.Architecture != "arm64" || file.Config.User != user {
			t.Errorf("ConfigFile() = %+v, %v, want linux, arm64 and the user", file, err)
		}
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	first, again, other := digest("1"), digest("1"), digest("2")
	if first != again {
		t.Error("digests of two equal images differ")
	}
	if first == other {
		t.Error("digests of two different images are equal")
	}
}
