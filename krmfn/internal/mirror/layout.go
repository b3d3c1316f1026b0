// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/krmfn/internal/images/layouts"
)

// nameAnnotation names an image in a layout.
const nameAnnotation = "org.opencontainers.image.ref.name"

// layoutTarget is an OCI layout, in which images have their references for names.
type layoutTarget struct{ dir string }

// openLayout checks that a directory is an OCI layout, or can become one.
func openLayout(dir string) (Target, error) {
	if dir == "" {
		return nil, errors.New("the directory of the OCI layout is empty: name it, as in oci:images")
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return layoutTarget{dir}, nil
	case err != nil:
		return nil, err
	case len(entries) == 0:
		return layoutTarget{dir}, nil
	}
	if _, err := layout.ImageIndexFromPath(dir); err != nil {
		return nil, fmt.Errorf("%s is neither empty nor an OCI layout: name another directory: %w", dir, err)
	}
	return layoutTarget{dir}, nil
}

// Name returns what krmfn evaluates as an image of a layout.
func (t layoutTarget) Name(ref string) (string, error) {
	return layoutScheme + t.dir + ":" + ref, nil
}

func (t layoutTarget) digest(_ context.Context, ref string) (string, error) {
	index, err := layout.ImageIndexFromPath(t.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return "", err
	}
	for _, m := range list.Manifests {
		if m.Annotations[nameAnnotation] == ref {
			return m.Digest.String(), nil
		}
	}
	return "", nil
}

// write writes the index of the layout last: what it names is there.
func (t layoutTarget) write(_ context.Context, ref string, from *remote.Descriptor) error {
	path, err := layout.FromPath(t.dir)
	if errors.Is(err, fs.ErrNotExist) {
		path, err = layout.Write(t.dir, empty.Index)
	}
	if err != nil {
		return err
	}
	name := layout.WithAnnotations(map[string]string{nameAnnotation: ref})
	switch {
	case from.MediaType.IsIndex():
		index, err := from.ImageIndex()
		if err != nil {
			return err
		}
		return layouts.ReplaceIndex(path, index, match.Name(ref), name)
	case from.MediaType.IsImage():
		image, err := from.Image()
		if err != nil {
			return err
		}
		return layouts.ReplaceImage(path, image, match.Name(ref), name)
	}
	return &kindError{string(from.MediaType)}
}
