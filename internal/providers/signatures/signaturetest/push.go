// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package signaturetest

import (
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// Tag pushes signatures, or attestations, under cosign's tag for an image.
func Tag(image name.Digest, attached []registry.Attached, options ...remote.Option) error {
	suffix := ".att"
	if len(attached) > 0 && attached[0].MediaType == registry.MediaTypeSimpleSigning {
		suffix = ".sig"
	}
	manifest, err := manifestOf(types.OCIConfigJSON, attached...)
	if err != nil {
		return err
	}
	return remote.Write(image.Context().Tag(strings.Replace(image.DigestStr(), ":", "-", 1)+suffix), manifest, options...)
}

// Refer pushes a Sigstore bundle that refers to an image.
func Refer(image name.Digest, bundle registry.Attached, options ...remote.Option) error {
	subject, err := remote.Head(image, options...)
	if err != nil {
		return err
	}
	manifest, err := manifestOf(types.MediaType(bundle.MediaType), bundle)
	if err != nil {
		return err
	}
	referring, ok := mutate.Subject(manifest, *subject).(v1.Image)
	if !ok {
		panic("mutate.Subject() of an image is not an image")
	}
	digest, err := referring.Digest()
	if err != nil {
		return err
	}
	return remote.Write(image.Context().Digest(digest.String()), referring, options...)
}

func manifestOf(config types.MediaType, attached ...registry.Attached) (v1.Image, error) {
	manifest := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), config)
	for _, a := range attached {
		var err error
		manifest, err = mutate.Append(manifest, mutate.Addendum{Layer: static.NewLayer(a.Content, types.MediaType(a.MediaType)), Annotations: a.Annotations})
		if err != nil {
			return nil, err
		}
	}
	return manifest, nil
}
