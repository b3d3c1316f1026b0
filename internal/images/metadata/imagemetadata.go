// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package metadata reads and writes the image metadata file. With it, function runners know the digests and the commands of images
// without registry requests. The image warmer creates it as a ConfigMap.
//
// Its form in YAML is:
// It is YAML of the form
//
//	apiVersion: krmfn.dev/v1alpha1
//	kind: ImageMetadata
//	images:
//	  - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0
//	    digest: sha256:…
//	    command: [/usr/local/bin/function]
//	    user: "65532"
//	    platforms: [linux/amd64, linux/arm64]
//	    traits: {worker: true, deterministic: true, noStandby: true}
package metadata

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/services/images/reference"
)

const (
	apiVersion = "krmfn.dev/v1alpha1"
	kind       = "ImageMetadata"
	// Key is the name of the file in a directory and in a ConfigMap.
	Key = "image-metadata.yaml"
	// Label is a label of ConfigMaps that contain the file. Its value is "true".
	Label = "krmfn.dev/image-metadata"
	// MaxSize is the maximum size of a file in bytes. It leaves room for metadata within the limit of a ConfigMap.
	MaxSize = 1000 << 10
)

type file struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Images     []registry.Image `json:"images"`
}

// Parse returns the images of a file in their order. Unknown fields, and images without a digest or a command, are errors. Errors name
// the field or the image.
func Parse(text []byte) ([]registry.Image, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("image metadata has more than %d bytes: list fewer images", MaxSize)
	}
	var f file
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return nil, fmt.Errorf("image metadata is invalid: %w", err)
	}
	if f.APIVersion != apiVersion || f.Kind != kind {
		return nil, fmt.Errorf("image metadata has apiVersion %q and kind %q: want %s and %s", f.APIVersion, f.Kind, apiVersion, kind)
	}
	for i := range f.Images {
		if err := validate(&f.Images[i]); err != nil {
			return nil, fmt.Errorf("image metadata, images[%d]: %w", i, err)
		}
	}
	return f.Images, nil
}

func validate(i *registry.Image) error {
	if err := reference.Validate(i.Reference); err != nil {
		return err
	}
	if _, err := v1.NewHash(i.Digest); err != nil {
		return fmt.Errorf("digest %q of image %q is invalid: %w", i.Digest, i.Reference, err)
	}
	if _, _, digest := reference.Split(i.Reference); digest != "" && digest != i.Digest {
		return fmt.Errorf("image %q has digest %q: want the digest in its reference", i.Reference, i.Digest)
	}
	if len(i.Command) == 0 || i.Command[0] == "" {
		return fmt.Errorf("image %q has no command: set it to the image's entrypoint", i.Reference)
	}
	return nil
}

// Format returns the file with the images, sorted by reference, so that equal images give equal bytes. If several images have one
// reference, the last one is used. The error reports that the file would be too large.
func Format(images []registry.Image) ([]byte, error) {
	byReference := make(map[string]registry.Image, len(images))
	for _, i := range images {
		byReference[i.Reference] = i
	}
	f := file{APIVersion: apiVersion, Kind: kind, Images: slices.AppendSeq([]registry.Image{}, maps.Values(byReference))}
	slices.SortFunc(f.Images, func(a, b registry.Image) int { return cmp.Compare(a.Reference, b.Reference) })
	text, err := yaml.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("write image metadata: %w", err)
	}
	if len(text) > MaxSize {
		return nil, fmt.Errorf("the metadata of %d images has %d bytes, more than the limit of %d: list fewer images", len(f.Images), len(text), MaxSize)
	}
	return text, nil
}
