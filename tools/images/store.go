// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/krmfn/krmfn/tools/images/internal/image"
)

// store writes images to a directory.
type store struct {
	dir      string
	registry string // prefix of repositories, without the slash at the end
	version  string // tag
}

// write writes one image for all its architectures, each to a file NAME-ARCH.tar that `docker load` and
// `kind load image-archive` read, and all of them to an OCI image layout NAME. It returns the digest of the index.
func (s store) write(repository string, images map[string]v1.Image) (v1.Hash, error) {
	ref, err := name.NewTag(s.registry + "/" + repository + ":" + s.version)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("image reference: %w", err)
	}
	idx := image.Index(images)
	if err := s.writeLayout(repository, idx); err != nil {
		return v1.Hash{}, err
	}
	for _, arch := range slices.Sorted(maps.Keys(images)) {
		file := filepath.Join(s.dir, repository+"-"+arch+".tar")
		if err := tarball.WriteToFile(file, ref, images[arch]); err != nil {
			return v1.Hash{}, fmt.Errorf("write %s: %w", file, err)
		}
	}
	return idx.Digest()
}

// writeLayout writes an index as an OCI image layout that knows it by the version.
func (s store) writeLayout(repository string, idx v1.ImageIndex) error {
	dir := filepath.Join(s.dir, repository)
	// A layout that is written to keeps its old blobs for ever.
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the former layout: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the layout's directory: %w", err)
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("write layout %s: %w", dir, err)
	}
	err = path.AppendIndex(idx, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": s.version,
	}))
	if err != nil {
		return fmt.Errorf("write layout %s: %w", dir, err)
	}
	return nil
}
