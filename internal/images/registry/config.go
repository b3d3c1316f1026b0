// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// linux is the only operating system that function pods run on.
const linux = "linux"

type reader struct {
	puller       *remote.Puller
	repository   name.Repository
	architecture string
	// ref and digest identify the image.
	ref, digest string
}

func (r *reader) read(ctx context.Context, manifest *remote.Descriptor) (Image, error) {
	switch mediaType := manifest.MediaType; {
	case mediaType.IsSchema1():
		return Image{}, &UnusableError{r.digest, "its manifest has Docker's schema 1, which nodes do not pull: push it again"}
	case mediaType.IsIndex():
		return r.readIndex(ctx, manifest)
	}
	kind, err := artifactType(manifest)
	if err != nil {
		return Image{}, err
	}
	if kind != "" {
		return Image{}, &UnusableError{r.digest, fmt.Sprintf("it is not an image but %s: use the image of a function", oneLine(kind))}
	}
	config, err := readConfig(manifest)
	if err != nil {
		return Image{}, err
	}
	var platforms []string
	if platform := platformOf(config); platform != nil {
		platforms = []string{platform.String()}
		if platform.OS != linux {
			return Image{}, notLinux(r.digest, platforms)
		}
	}
	image, err := newImage(r.ref, r.digest, config.Config)
	if err != nil {
		return Image{}, err
	}
	image.Platforms = platforms
	return image, nil
}

func readConfig(manifest *remote.Descriptor) (*v1.ConfigFile, error) {
	image, err := manifest.Image()
	if err != nil {
		return nil, err
	}
	return image.ConfigFile()
}

// platformOf returns the platform in a config, or nil if it has none or an invalid one.
func platformOf(config *v1.ConfigFile) *v1.Platform {
	platform := config.Platform()
	if platform == nil || platform.OS == "" || !isPrintable(platform) {
		return nil
	}
	return platform
}

// isPrintable reports whether the platform's name is short and printable.
func isPrintable(platform *v1.Platform) bool {
	name := platform.String()
	return len(name) <= maxPlatform && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// configTypes are the media types of image configs. Old registries and clients use the unusual ones, and container runtimes accept
// them.
var configTypes = map[types.MediaType]bool{
	types.OCIConfigJSON: true, types.DockerConfigJSON: true,
	"": true, "application/octet-stream": true, "application/json": true, "text/html": true,
}

// artifactType returns the type of an OCI artefact that is not an image, such as a chart, a WebAssembly module or a signature. It returns
// "" for an image.
func artifactType(manifest *remote.Descriptor) (string, error) {
	parsed, err := v1.ParseManifest(bytes.NewReader(manifest.Manifest))
	if err != nil {
		return "", err
	}
	if configTypes[parsed.Config.MediaType] {
		return "", nil
	}
	if parsed.Config.MediaType == types.OCIEmptyJSON {
		return cmp.Or(parsed.ArtifactType, string(types.OCIEmptyJSON)), nil
	}
	return string(parsed.Config.MediaType), nil
}

func notLinux(digest string, platforms []string) error {
	has := "no image"
	if len(platforms) > 0 {
		has = "only " + oneLine(strings.Join(platforms, ", "))
	}
	return &UnusableError{digest, fmt.Sprintf("it has %s: build it for linux", has)}
}
