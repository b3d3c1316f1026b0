// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmfn/krmfn/internal/archive"
)

// WriteArchive writes an OCI image layout as a tar archive: an index with a tag, and its referrers. Equal content gives equal bytes.
func WriteArchive(file, tag string, idx v1.ImageIndex, referrers []Referrer) error {
	dir, err := os.MkdirTemp("", "krmfn-layout-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary directory
	if err := WriteLayout(dir, tag, idx, referrers); err != nil {
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

// WriteLayout writes an OCI image layout to an empty directory: an index with a tag, and its referrers.
func WriteLayout(dir, tag string, idx v1.ImageIndex, referrers []Referrer) error {
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
		if err := attach(path, r, *subject); err != nil {
			return fmt.Errorf("%s: %w", r.Title, err)
		}
	}
	return nil
}

// read returns all files of a directory, sorted by name, with mode 0644.
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

// Referrer is a file that refers to an image, such as its bill of materials.
type Referrer struct {
	Title     string // file name
	MediaType string
	Data      []byte
	// Annotations are the annotations of the referrer's manifest.
	Annotations map[string]string
}

// attach writes a file, and a manifest that refers to the subject. The digest of the subject does not change. The manifest has the empty
// config that the OCI image specification defines.
func attach(path layout.Path, r Referrer, subject v1.Descriptor) error {
	config, err := writeBlob(path, ocispec.MediaTypeEmptyJSON, ocispec.DescriptorEmptyJSON.Data)
	if err != nil {
		return err
	}
	file, err := writeBlob(path, types.MediaType(r.MediaType), r.Data)
	if err != nil {
		return err
	}
	file.Annotations = map[string]string{ocispec.AnnotationTitle: r.Title}
	data, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2,
		MediaType:     types.OCIManifestSchema1,
		ArtifactType:  r.MediaType,
		Config:        config,
		Layers:        []v1.Descriptor{file},
		Subject:       &v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
		Annotations:   r.Annotations,
	})
	if err != nil {
		return err
	}
	manifest, err := writeBlob(path, types.OCIManifestSchema1, data)
	if err != nil {
		return err
	}
	manifest.ArtifactType, manifest.Annotations = r.MediaType, r.Annotations
	return path.AppendDescriptor(manifest)
}

func writeBlob(path layout.Path, kind types.MediaType, data []byte) (v1.Descriptor, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(data))
	if err != nil {
		return v1.Descriptor{}, err
	}
	return v1.Descriptor{MediaType: kind, Digest: digest, Size: size}, path.WriteBlob(digest, io.NopCloser(bytes.NewReader(data)))
}
