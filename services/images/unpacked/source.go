// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	layoutScheme  = "oci:"
	archiveScheme = "docker-archive:"
)

// openLocal returns an image that is on this machine, named as reference.IsLocal says. Without NAME there must be one image.
func openLocal(ref, architecture string) (v1.Image, error) {
	if dir, ok := strings.CutPrefix(ref, layoutScheme); ok {
		dir, tag := cutName(dir)
		index, err := layout.ImageIndexFromPath(dir)
		if err != nil {
			return nil, fmt.Errorf("read the OCI layout %s: %w", dir, err)
		}
		return choose(index, tag, architecture, 0)
	}
	file, tag := cutName(strings.TrimPrefix(ref, archiveScheme))
	if tag == "" {
		return tarball.ImageFromPath(file, nil)
	}
	parsed, err := name.NewTag(tag)
	if err != nil {
		return nil, err
	}
	return tarball.ImageFromPath(file, &parsed)
}

// cutName cuts the name of an image from a path that exists.
func cutName(path string) (file, image string) {
	if _, err := os.Stat(path); err == nil {
		return path, ""
	}
	for i, r := range path {
		if r != ':' {
			continue
		}
		if _, err := os.Stat(path[:i]); err == nil {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}

const (
	// maxDepth is how deep indexes within an index may lie.
	maxDepth = 2
	// nameAnnotation is what names an image in a layout.
	nameAnnotation = "org.opencontainers.image.ref.name"
)

// configTypes are what an index calls an image; anything else is an attestation, or a chart.
var configTypes = []types.MediaType{"", types.DockerConfigJSON, types.OCIConfigJSON}

// choose returns the image of an index for linux and an architecture, of this name where it is not empty. Images that do not say
// what they are for come last.
func choose(index v1.ImageIndex, name, architecture string, depth int) (v1.Image, error) {
	list, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	manifests := slices.DeleteFunc(slices.Clone(list.Manifests), func(d v1.Descriptor) bool {
		p := d.Platform
		return name != "" && d.Annotations[nameAnnotation] != name || p != nil && (p.OS != "linux" || p.Architecture != architecture)
	})
	if depth == 0 && name == "" && len(list.Manifests) > 1 && len(manifests) > 1 && manifests[0].Platform == nil {
		return nil, fmt.Errorf("it has %d images: add the name of one, as in oci:DIR:NAME", len(manifests))
	}
	slices.SortStableFunc(manifests, func(a, b v1.Descriptor) int {
		switch {
		case a.Platform != nil && b.Platform == nil:
			return -1
		case a.Platform == nil && b.Platform != nil:
			return 1
		}
		return 0
	})
	for _, d := range manifests {
		switch {
		case d.MediaType.IsImage() && slices.Contains(configTypes, types.MediaType(d.ArtifactType)):
			return index.Image(d.Digest)
		case d.MediaType.IsIndex() && depth < maxDepth:
			within, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			return choose(within, "", architecture, depth+1)
		}
	}
	if name != "" {
		return nil, fmt.Errorf("it has no image %q for linux/%s", name, architecture)
	}
	return nil, fmt.Errorf("it has no image for linux/%s", architecture)
}

// config reads an image's config, checks that it can run here, and returns the image by its digest.
func config(image v1.Image, architecture string) (*v1.ConfigFile, Image, error) {
	raw, err := image.RawConfigFile()
	if err != nil {
		return nil, Image{}, err
	}
	id, _, err := v1.SHA256(strings.NewReader(string(raw)))
	if err != nil {
		return nil, Image{}, err
	}
	c, err := image.ConfigFile()
	if err != nil {
		return nil, Image{}, err
	}
	command := slices.Concat(c.Config.Entrypoint, c.Config.Cmd)
	switch {
	case len(command) == 0 || command[0] == "":
		err = errors.New("it has neither an entrypoint nor a cmd: set ENTRYPOINT to the function's program")
	case c.OS != "" && c.OS != "linux", c.Architecture != "" && c.Architecture != architecture:
		err = fmt.Errorf("it is for %s/%s and this machine is linux/%s: build it for linux/%s, too", c.OS, c.Architecture, architecture, architecture)
	}
	return c, Image{ID: id.String(), Command: command, Env: c.Config.Env, User: c.Config.User, Dir: c.Config.WorkingDir}, err
}

// Registry is where images are pulled from: *registry.Client, or what stands before one.
type Registry interface {
	// Digest returns the digest that a reference means now.
	Digest(ctx context.Context, ref string) (string, error)
	// Pull hands what has the digest to use, as an image or an index.
	Pull(ctx context.Context, ref, digest string, maxBytes int64, use func(context.Context, *Descriptor) error) error
}
