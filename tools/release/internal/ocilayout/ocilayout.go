// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package ocilayout writes an image, for all architectures and with what refers to it, as an OCI image layout.
package ocilayout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmfn/krmfn/tools/release/internal/archive"
)

// Write writes an index, known by a tag, and what refers to it to a file. The same content gives the same bytes.
func Write(file, tag string, idx v1.ImageIndex, referrers []Referrer) error {
	dir, err := os.MkdirTemp("", "krmfn-layout-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // What is left behind in the directory for temporary files hurts nobody.
	if err := Fill(dir, tag, idx, referrers); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	files, err := read(os.DirFS(dir))
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := errors.Join(archive.Tar(out, time.Unix(0, 0), files), out.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// Fill writes an index, known by a tag, and what refers to it to an empty directory.
func Fill(dir, tag string, idx v1.ImageIndex, referrers []Referrer) error {
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(idx, layout.WithAnnotations(map[string]string{ocispec.AnnotationRefName: tag})); err != nil {
		return err
	}
	subject, err := partial.Descriptor(idx)
	if err != nil {
		return err
	}
	for _, r := range referrers {
		img, err := attach(r, *subject)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Title, err)
		}
		if err := path.AppendImage(img, layout.WithAnnotations(r.Annotations)); err != nil {
			return err
		}
	}
	return nil
}

// read returns all files of a directory, sorted by name, readable by everybody.
func read(dir fs.FS) ([]archive.File, error) {
	var files []archive.File
	err := fs.WalkDir(dir, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(dir, name)
		files = append(files, archive.File{Name: name, Mode: 0o644, Data: data})
		return err
	})
	return files, err
}

// Referrer is a file that says something about an image.
type Referrer struct {
	Title     string // name of the file
	MediaType string
	Data      []byte
	// Annotations are those of the manifest.
	Annotations map[string]string
}

// attachment is a manifest that has a subject and one layer. Its type is the media type of that layer.
type attachment struct {
	layer    v1.Layer
	manifest []byte
}

// attach makes the manifest of a file that refers to a subject, whose own digest does not change by that. The config of a
// manifest that needs none is that of the OCI image specification.
func attach(r Referrer, subject v1.Descriptor) (v1.Image, error) {
	layer := static.NewLayer(r.Data, types.MediaType(r.MediaType))
	desc, err := partial.Descriptor(layer)
	if err != nil {
		return nil, err
	}
	desc.Annotations = map[string]string{ocispec.AnnotationTitle: r.Title}
	config, err := partial.Descriptor(static.NewLayer(ocispec.DescriptorEmptyJSON.Data, ocispec.MediaTypeEmptyJSON))
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2,
		MediaType:     types.OCIManifestSchema1,
		ArtifactType:  r.MediaType,
		Config:        *config,
		Layers:        []v1.Descriptor{*desc},
		Subject:       &v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
		Annotations:   r.Annotations,
	})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&attachment{layer: layer, manifest: manifest})
}

func (a *attachment) RawConfigFile() ([]byte, error)      { return ocispec.DescriptorEmptyJSON.Data, nil }
func (a *attachment) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (a *attachment) RawManifest() ([]byte, error)        { return a.manifest, nil }

func (a *attachment) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if digest, err := a.layer.Digest(); err != nil || digest != h {
		return nil, fmt.Errorf("no layer %s", h)
	}
	return a.layer, nil
}
