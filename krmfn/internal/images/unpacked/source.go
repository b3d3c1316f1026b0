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

// openLocal returns an image on this machine; reference.IsLocal describes its name. Without NAME, there must be a single image.
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

// cutName separates the path of an existing file or directory from the name of an image.
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
	// maxDepth is the maximum nesting depth of indexes.
	maxDepth = 2
	// nameAnnotation is the annotation with the name of an image in a layout.
	nameAnnotation = "org.opencontainers.image.ref.name"
)

// configTypes are the artefact types of images in an index. Entries with other types are attestations or charts.
var configTypes = []types.MediaType{"", types.DockerConfigJSON, types.OCIConfigJSON}

// choose returns the image of an index for linux and the architecture, with the given name unless that is empty. Images without a
// platform come last.
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
		return nil, fmt.Errorf("it has %d images: add a name, as in oci:DIR:NAME", len(manifests))
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

// config reads an image's config, checks that the image can run on this machine, and returns it with its ID.
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

// Registry provides images. *registry.Client implements it.
type Registry interface {
	// Digest returns the current digest of a reference.
	Digest(ctx context.Context, ref string) (string, error)
	// Pull passes the manifest or index with the digest to use.
	Pull(ctx context.Context, ref, digest string, maxBytes int64, use func(context.Context, *Descriptor) error) error
}
