// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// linux is the only operating system that function pods run on.
const linux = "linux"

// readConfig returns the config of an image, or of the image for an architecture in an index, and the platforms.
func readConfig(manifest *remote.Descriptor, architecture string) (*v1.ConfigFile, []string, error) {
	digest := manifest.Digest.String()
	switch manifest.MediaType {
	case types.DockerManifestSchema1, types.DockerManifestSchema1Signed:
		return nil, nil, &UnusableError{digest, "its manifest has Docker's schema 1, which nodes do not pull: push it again"}
	case types.OCIImageIndex, types.DockerManifestList:
		return readIndex(manifest, architecture)
	}
	image, err := manifest.Image()
	if err != nil {
		return nil, nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, nil, err
	}
	platform := config.Platform()
	if platform == nil || platform.OS == "" {
		return config, nil, nil
	}
	if platform.OS != linux {
		return nil, nil, notLinux(digest, []string{platform.String()})
	}
	return config, []string{platform.String()}, nil
}

func readIndex(manifest *remote.Descriptor, architecture string) (*v1.ConfigFile, []string, error) {
	index, err := manifest.ImageIndex()
	if err != nil {
		return nil, nil, err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return nil, nil, err
	}
	child, platforms := choose(list.Manifests, architecture)
	if child == nil {
		return nil, nil, notLinux(manifest.Digest.String(), platforms)
	}
	image, err := index.Image(child.Digest)
	if err != nil {
		return nil, nil, err
	}
	config, err := image.ConfigFile()
	return config, platforms, err
}

// choose returns the linux image for an architecture, else the first linux image, else nil; and all platforms. Attestations,
// whose platform is unknown/unknown, and other artefacts are no images. An image that does not say counts as linux.
func choose(manifests []v1.Descriptor, architecture string) (*v1.Descriptor, []string) {
	var (
		exact, first *v1.Descriptor
		platforms    []string
	)
	for i := range manifests {
		child := &manifests[i]
		if !isImage(child) {
			continue
		}
		if child.Platform != nil {
			platforms = append(platforms, child.Platform.String())
			if child.Platform.OS != linux {
				continue
			}
			if exact == nil && child.Platform.Architecture == architecture {
				exact = child
			}
		}
		if first == nil {
			first = child
		}
	}
	if exact != nil {
		return exact, platforms
	}
	return first, platforms
}

func isImage(child *v1.Descriptor) bool {
	if p := child.Platform; p != nil && (p.OS == "" || p.OS == "unknown") {
		return false
	}
	return child.MediaType.IsImage() && (child.ArtifactType == "" || types.MediaType(child.ArtifactType).IsConfig())
}

func notLinux(digest string, platforms []string) error {
	has := "no image"
	if len(platforms) > 0 {
		has = "only " + oneLine(strings.Join(platforms, ", "))
	}
	return &UnusableError{digest, fmt.Sprintf("it has %s: build it for linux", has)}
}
