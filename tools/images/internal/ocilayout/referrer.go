// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package ocilayout keeps an image, for all architectures and with what refers to it, in one file: an OCI image layout.
package ocilayout

import (
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Referrer is a file that says something about an image.
type Referrer struct {
	Title     string // name of the file
	MediaType string
	Data      []byte
	// Annotations are those of the manifest.
	Annotations map[string]string
}

const (
	titleAnnotation = "org.opencontainers.image.title"
	nameAnnotation  = "org.opencontainers.image.ref.name"
	emptyMediaType  = types.MediaType("application/vnd.oci.empty.v1+json")
)

// emptyConfig is the config of a manifest that needs none, as the OCI image specification has it.
var emptyConfig = []byte("{}")

// attachment is a manifest that has a subject and one layer. Its type is the media type of that layer.
type attachment struct {
	layer    v1.Layer
	manifest []byte
}

// attach makes the manifest of a file that refers to a subject, whose own digest does not change by that.
func attach(r Referrer, subject v1.Descriptor) (v1.Image, error) {
	layer := static.NewLayer(r.Data, types.MediaType(r.MediaType))
	desc, err := partial.Descriptor(layer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Title, err)
	}
	desc.Annotations = map[string]string{titleAnnotation: r.Title}
	config := static.NewLayer(emptyConfig, emptyMediaType)
	configDesc, err := partial.Descriptor(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Title, err)
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2,
		MediaType:     types.OCIManifestSchema1,
		ArtifactType:  r.MediaType,
		Config:        *configDesc,
		Layers:        []v1.Descriptor{*desc},
		Subject:       &v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
		Annotations:   r.Annotations,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Title, err)
	}
	return partial.CompressedToImage(&attachment{layer: layer, manifest: manifest})
}

func (a *attachment) RawConfigFile() ([]byte, error)      { return emptyConfig, nil }
func (a *attachment) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (a *attachment) RawManifest() ([]byte, error)        { return a.manifest, nil }

func (a *attachment) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if digest, err := a.layer.Digest(); err != nil || digest != h {
		return nil, fmt.Errorf("no layer %s", h)
	}
	return a.layer, nil
}
