// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/krmfn/krmfn/internal/images/ociimage"
	"github.com/krmfn/krmfn/internal/server/version"
	"github.com/krmfn/krmfn/krmfn/internal/images/layouts"
)

const (
	layoutScheme  = "oci:"
	archiveScheme = "docker-archive:"
)

// Destination is a place to write images to.
type Destination struct {
	// One field is set: the directory of an OCI layout, the file of a docker archive, or the reference in a registry.
	directory, file string
	reference       name.Reference
}

// ParseDestination parses oci:DIR, docker-archive:FILE, or the reference of an image in a registry. The default tag is latest.
func ParseDestination(text string) (Destination, error) {
	if dir, ok := strings.CutPrefix(text, layoutScheme); ok && dir != "" {
		return Destination{directory: dir}, nil
	}
	if file, ok := strings.CutPrefix(text, archiveScheme); ok && file != "" {
		return Destination{file: file}, nil
	}
	reference, err := name.NewTag(text)
	if err != nil {
		return Destination{}, fmt.Errorf("destination %q is neither oci:DIR nor docker-archive:FILE nor REGISTRY/NAME:TAG: %w", text, err)
	}
	return Destination{reference: reference}, nil
}

// Write writes the images of one function, one for each platform. It returns a reference to them; for a registry, that contains the
// digest. It replaces the existing image in a layout or an archive. To push, it uses the credentials of Docker's or Podman's
// configuration.
func (d Destination) Write(ctx context.Context, images []v1.Image) (string, error) {
	if len(images) == 1 {
		return d.writeImage(ctx, images[0])
	}
	index, err := ociimage.Index(images)
	if err != nil {
		return "", err
	}
	switch {
	case d.directory != "":
		path, err := openLayout(d.directory)
		if err == nil {
			err = layouts.ReplaceIndex(path, index, every)
		}
		return layoutScheme + d.directory, err
	case d.file != "":
		return "", fmt.Errorf("%s%s: an archive can contain only one image, and there are %d platforms: select one, or write to oci:DIR", archiveScheme, d.file, len(images))
	}
	if err := remote.WriteIndex(d.reference, index, options(ctx)...); err != nil {
		return "", fmt.Errorf("push %s: %w", d.reference, err)
	}
	return pinned(d.reference, index)
}

func (d Destination) writeImage(ctx context.Context, image v1.Image) (string, error) {
	switch {
	case d.directory != "":
		config, err := image.ConfigFile()
		if err != nil {
			return "", err
		}
		path, err := openLayout(d.directory)
		if err == nil {
			err = layouts.ReplaceImage(path, image, every, layout.WithPlatform(*config.Platform()))
		}
		return layoutScheme + d.directory, err
	case d.file != "":
		tag, err := name.NewTag(archiveTag(d.file))
		if err != nil {
			return "", err
		}
		return archiveScheme + d.file, tarball.WriteToFile(d.file, tag, image)
	}
	if err := remote.Write(d.reference, image, options(ctx)...); err != nil {
		return "", fmt.Errorf("push %s: %w", d.reference, err)
	}
	return pinned(d.reference, image)
}

// archiveTag returns the name that docker load gives to the image of an archive.
func archiveTag(file string) string {
	base := strings.ToLower(filepath.Base(file))
	repository := strings.Trim(strings.TrimSuffix(base, filepath.Ext(base)), "._-")
	if _, err := name.NewTag(repository); repository == "" || err != nil {
		return "function:latest"
	}
	return repository + ":latest"
}

// every matches all images of a layout.
func every(v1.Descriptor) bool { return true }

// openLayout opens a layout with at most one image, or creates it.
func openLayout(dir string) (layout.Path, error) {
	path, err := layout.FromPath(dir)
	if err != nil {
		entries, readErr := os.ReadDir(dir)
		if len(entries) > 0 || readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
			return "", fmt.Errorf("%s is neither an OCI layout nor an empty directory: use another", dir)
		}
		return layout.Write(dir, empty.Index)
	}
	index, err := path.ImageIndex()
	if err != nil {
		return "", err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return "", fmt.Errorf("read the OCI layout %s: %w", dir, err)
	}
	if len(manifest.Manifests) > 1 {
		return "", fmt.Errorf("the OCI layout %s has %d images, which would be overwritten: use another directory", dir, len(manifest.Manifests))
	}
	return path, nil
}

func options(ctx context.Context) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("krmfn/" + version.Version()),
	}
}

func pinned(reference name.Reference, image interface{ Digest() (v1.Hash, error) }) (string, error) {
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	return reference.String() + "@" + digest.String(), nil
}

// Pulled returns a function that pulls the image of a reference for a platform, for use as a base.
func Pulled(ctx context.Context, ref string) (func(v1.Platform) (v1.Image, error), error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return nil, fmt.Errorf("base image %q is invalid: %w", ref, err)
	}
	return func(platform v1.Platform) (v1.Image, error) {
		image, err := remote.Image(parsed, append(options(ctx), remote.WithPlatform(platform))...)
		if err != nil {
			return nil, fmt.Errorf("pull base image %s for %s: %w", ref, platform, err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			return nil, fmt.Errorf("pull base image %s: %w", ref, err)
		}
		if config.OS != platform.OS || config.Architecture != platform.Architecture {
			return nil, fmt.Errorf("base image %s is for %s/%s, but the program is for %s: use another base or platform", ref, config.OS, config.Architecture, platform)
		}
		return image, nil
	}, nil
}
