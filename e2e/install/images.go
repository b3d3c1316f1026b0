// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/google/go-containerregistry/pkg/crane"

	"github.com/krmfn/krmfn/e2e/registry/publish"
)

// Images lists the images that the chart installs or runs in its tests.
var Images = []string{"function-runner", "wrapper-server", "pod-janitor", "image-warmer", "task-handler", "krmfn", "functions"}

// pin adds a tag to the images in the registry that is unique to their digests, and returns the tag. A unique tag is necessary because
// nodes do not pull a tag that they already have.
func pin(ctx context.Context, registry string) (string, error) {
	hash := sha256.New()
	for _, image := range Images {
		digest, err := crane.Digest(reference(registry, image, publish.Tag), crane.WithContext(ctx), crane.Insecure)
		if err != nil {
			return "", fmt.Errorf("krmfn's images: %w: try make e2e", err)
		}
		hash.Write([]byte(digest))
	}
	pinned := publish.Tag + "-" + hex.EncodeToString(hash.Sum(nil))[:12]
	return pinned, tag(ctx, registry, publish.Tag, pinned)
}

// Retag adds another tag to krmfn's images, for example to simulate a new release, and returns the tag.
func (i *Installation) Retag(ctx context.Context, suffix string) (string, error) {
	another := i.tag + "-" + suffix
	return another, tag(ctx, i.Registry, i.tag, another)
}

// tag adds another tag to the images with a tag.
func tag(ctx context.Context, registry, from, another string) error {
	for _, image := range Images {
		if err := crane.Tag(reference(registry, image, from), another, crane.WithContext(ctx), crane.Insecure); err != nil {
			return fmt.Errorf("tag krmfn's images: %w", err)
		}
	}
	return nil
}

func reference(registry, image, tag string) string { return registry + "/krmfn/" + image + ":" + tag }

// WrapperImage returns the reference of the wrapper server's image, for function pod templates.
func (i *Installation) WrapperImage() string { return reference(i.Registry, "wrapper-server", i.tag) }
