// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package publish pushes the images that tests use into a registry over plain HTTP.
package publish

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/internal/images/ociimage"
)

// Tag is an additional tag of krmfn's images, because tests do not know the version tag.
const Tag = "e2e"

// refName is the annotation of an image layout that contains the tag.
const refName = "org.opencontainers.image.ref.name"

// Image is an image in the registry.
type Image struct {
	// Reference includes the tag.
	Reference string
	Digest    v1.Hash
}

// Layouts pushes the OCI image layouts in a directory, each as prefix/NAME with the tag in the layout and with Tag.
func Layouts(ctx context.Context, dir, prefix string) ([]Image, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("image layouts: %w: try make images", err)
	}
	var pushed []Image
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		images, err := pushLayout(ctx, filepath.Join(dir, entry.Name()), prefix+"/"+entry.Name())
		if err != nil {
			return nil, fmt.Errorf("push image layout %s: %w", entry.Name(), err)
		}
		pushed = append(pushed, images...)
	}
	return pushed, nil
}

func pushLayout(ctx context.Context, dir, repository string) ([]Image, error) {
	root, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		return nil, err
	}
	var pushed []Image
	for _, descriptor := range manifest.Manifests {
		index, err := root.ImageIndex(descriptor.Digest)
		if err != nil {
			return nil, err
		}
		for _, tag := range []string{descriptor.Annotations[refName], Tag} {
			ref, err := name.NewTag(repository+":"+tag, name.Insecure)
			if err != nil {
				return nil, err
			}
			if err := remote.WriteIndex(ref, index, remote.WithContext(ctx)); err != nil {
				return nil, err
			}
			pushed = append(pushed, Image{Reference: ref.String(), Digest: descriptor.Digest})
		}
	}
	return pushed, nil
}

// Build assembles an image for this machine's architecture.
func Build(config v1.Config, layers ...v1.Layer) (v1.Image, error) {
	return ociimage.Image{Platform: v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, Config: config, Layers: layers}.Build()
}

// Push pushes an image to a reference with a tag.
func Push(ctx context.Context, reference string, img v1.Image) (Image, error) {
	ref, err := name.NewTag(reference, name.Insecure)
	if err != nil {
		return Image{}, err
	}
	digest, err := img.Digest()
	if err != nil {
		return Image{}, err
	}
	if err := remote.Write(ref, img, remote.WithContext(ctx)); err != nil {
		return Image{}, fmt.Errorf("push image: %w", err)
	}
	return Image{Reference: reference, Digest: digest}, nil
}
