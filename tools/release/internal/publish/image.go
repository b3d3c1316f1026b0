// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"

	"github.com/krmfn/krmfn/tools/release/internal/checkout"
	"github.com/krmfn/krmfn/tools/release/internal/release"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

type image struct {
	layout *oci.ReadOnlyStore
	index  ocispec.Descriptor
	tag    tag
}

// openImage reads an image of the release, and compares it with the registry.
func (o Options) openImage(ctx context.Context, name string) (image, error) {
	version := o.Versions.Images[name]
	file := filepath.Join(o.Dir, release.ImageFile(name, version))
	layout, err := oci.NewFromTar(ctx, file)
	if err != nil {
		return image{}, fmt.Errorf("image %s is part of release %s: %w", name, o.Release.Tag, err)
	}
	i := image{layout: layout}
	if i.tag, err = o.tag(name, version); err != nil {
		return image{}, err
	}
	if i.index, err = layout.Resolve(ctx, version); err != nil {
		return image{}, fmt.Errorf("%s: version %s: %w; build the release again", file, version, err)
	}
	if err := o.checkCommit(ctx, i); err != nil {
		return image{}, fmt.Errorf("%s: %w", file, err)
	}
	published, err := i.tag.digest(ctx)
	if err != nil {
		return image{}, err
	}
	if published != "" && published != i.index.Digest {
		return image{}, fmt.Errorf("%s is already published, as %s: give %s a new version in %s", i.tag, published, name, versions.File)
	}
	return i, nil
}

// checkCommit returns an error if an image was built with uncommitted changes.
func (o Options) checkCommit(ctx context.Context, i image) error {
	manifests, err := content.Successors(ctx, i.layout, i.index)
	if err != nil {
		return err
	}
	for _, desc := range manifests {
		var manifest ocispec.Manifest
		var config ocispec.Image
		if err := fetch(ctx, i.layout, desc, &manifest); err != nil {
			return err
		}
		if err := fetch(ctx, i.layout, manifest.Config, &config); err != nil {
			return err
		}
		revision := config.Config.Labels[ocispec.AnnotationRevision]
		if strings.HasSuffix(revision, checkout.Dirty) && !o.AllowDirty {
			return fmt.Errorf("built with uncommitted changes (%s): build the release in a clean checkout", revision)
		}
	}
	return nil
}

func fetch(ctx context.Context, from content.Fetcher, desc ocispec.Descriptor, into any) error {
	data, err := content.FetchAll(ctx, from, desc)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// pushImage pushes an image and its referrers, and returns their references with digests, the image first.
func (o Options) pushImage(ctx context.Context, i image) ([]string, error) {
	if _, err := oras.ExtendedCopy(ctx, i.layout, i.tag.name, i.tag, i.tag.name, oras.DefaultExtendedCopyOptions); err != nil {
		return nil, fmt.Errorf("push %s: %w", i.tag, err)
	}
	bills, err := i.layout.Predecessors(ctx, i.index)
	if err != nil {
		return nil, err
	}
	pushed := []string{i.tag.reference(i.index.Digest.String())}
	for _, bill := range bills {
		pushed = append(pushed, i.tag.reference(bill.Digest.String()))
	}
	fmt.Fprintf(o.Log, "%s: %s, with %d bills of materials\n", i.tag, i.index.Digest, len(bills))
	return pushed, nil
}
