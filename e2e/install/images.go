// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/e2e/registry/publish"
)

// Images are the names of the images that the chart installs.
var Images = []string{"function-runner", "wrapper-server", "pod-janitor", "image-warmer", "task-handler", "krmfn"}

// pin gives the images that are in the registry a tag that no others ever have, and returns it: nodes keep the images that
// they have once pulled under a tag.
func pin(ctx context.Context, registry string) (string, error) {
	found, err := lookUp(ctx, registry, publish.Tag)
	if err != nil {
		return "", fmt.Errorf("krmfn's images: %w: try make e2e", err)
	}
	hash := sha256.New()
	for _, image := range found {
		hash.Write([]byte(image.Digest.String()))
	}
	pinned := publish.Tag + "-" + hex.EncodeToString(hash.Sum(nil))[:12]
	return pinned, tag(ctx, registry, pinned, found)
}

// Retag gives krmfn's images another tag as well, that of a next release for instance, and returns it.
func (i *Installation) Retag(ctx context.Context, suffix string) (string, error) {
	found, err := lookUp(ctx, i.Registry, i.tag)
	if err != nil {
		return "", err
	}
	another := i.tag + "-" + suffix
	return another, tag(ctx, i.Registry, another, found)
}

func lookUp(ctx context.Context, registry, tagged string) ([]*remote.Descriptor, error) {
	found := make([]*remote.Descriptor, len(Images))
	for i, image := range Images {
		ref, err := name.NewTag(reference(registry, image, tagged), name.Insecure)
		if err != nil {
			return nil, err
		}
		if found[i], err = remote.Get(ref, remote.WithContext(ctx)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func tag(ctx context.Context, registry, another string, found []*remote.Descriptor) error {
	for i, image := range Images {
		ref, err := name.NewTag(reference(registry, image, another), name.Insecure)
		if err != nil {
			return err
		}
		if err := remote.Tag(ref, found[i], remote.WithContext(ctx)); err != nil {
			return fmt.Errorf("tag krmfn's images: %w", err)
		}
	}
	return nil
}

func reference(registry, image, tag string) string { return registry + "/krmfn/" + image + ":" + tag }

// WrapperImage is the reference of the wrapper server's image, for templates of function pods.
func (i *Installation) WrapperImage() string { return reference(i.Registry, "wrapper-server", i.tag) }
