// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package ocilayout

import (
	"errors"
	"fmt"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/krmfn/krmfn/tools/images/internal/archive"
)

// Write writes an index, known by a tag, and what refers to it to a file. The same content gives the same bytes.
func Write(file, tag string, idx v1.ImageIndex, referrers []Referrer) error {
	dir, err := os.MkdirTemp("", "krmfn-layout-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // What is left behind in the directory for temporary files hurts nobody.
	if err := fill(dir, tag, idx, referrers); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	files, err := archive.Folder(dir)
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

func fill(dir, tag string, idx v1.ImageIndex, referrers []Referrer) error {
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(idx, layout.WithAnnotations(map[string]string{nameAnnotation: tag})); err != nil {
		return err
	}
	subject, err := partial.Descriptor(idx)
	if err != nil {
		return err
	}
	for _, r := range referrers {
		img, err := attach(r, *subject)
		if err != nil {
			return err
		}
		if err := path.AppendImage(img, layout.WithAnnotations(r.Annotations)); err != nil {
			return err
		}
	}
	return nil
}

// Content is what a layout has.
type Content struct {
	Tag       string
	Index     v1.ImageIndex
	Digest    v1.Hash // of the index
	Referrers []v1.Image
}

// Read reads a file that Write has written. Its content is read from dir, an empty directory that must stay as it is for as
// long as the content is used.
func Read(file, dir string) (Content, error) {
	if err := archive.Unpack(file, dir); err != nil {
		return Content{}, err
	}
	c, err := read(dir)
	if err != nil {
		return Content{}, fmt.Errorf("read %s: %w", file, err)
	}
	return c, nil
}

func read(dir string) (Content, error) {
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return Content{}, err
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return Content{}, err
	}
	var c Content
	for _, desc := range manifest.Manifests {
		switch {
		case desc.MediaType.IsIndex() && c.Index == nil:
			c.Tag, c.Digest = desc.Annotations[nameAnnotation], desc.Digest
			c.Index, err = top.ImageIndex(desc.Digest)
		case desc.MediaType.IsImage():
			var img v1.Image
			img, err = top.Image(desc.Digest)
			c.Referrers = append(c.Referrers, img)
		default:
			err = fmt.Errorf("%s of type %s is not expected", desc.Digest, desc.MediaType)
		}
		if err != nil {
			return Content{}, err
		}
	}
	if c.Index == nil || c.Tag == "" {
		return Content{}, errors.New("there is no index with a tag")
	}
	return c, nil
}
