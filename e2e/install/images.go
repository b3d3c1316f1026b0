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

	"github.com/krmfn/krmfn/e2e/publish"
)

// images are those that the chart installs.
var images = []string{"function-runner", "wrapper-server"}

// pin gives the images that are in the registry a tag that no others ever have, and returns it: nodes keep the images that
// they have once pulled under a tag.
func pin(ctx context.Context, registry string) (string, error) {
	found := make([]*remote.Descriptor, len(images))
	hash := sha256.New()
	for i, image := range images {
		ref, err := name.NewTag(reference(registry, image, publish.Tag), name.Insecure)
		if err != nil {
			return "", err
		}
		if found[i], err = remote.Get(ref, remote.WithContext(ctx)); err != nil {
			return "", fmt.Errorf("krmfn's images: %w: try make e2e", err)
		}
		hash.Write([]byte(found[i].Digest.String()))
	}
	pinned := publish.Tag + "-" + hex.EncodeToString(hash.Sum(nil))[:12]
	for i, image := range images {
		tag, err := name.NewTag(reference(registry, image, pinned), name.Insecure)
		if err != nil {
			return "", err
		}
		if err := remote.Tag(tag, found[i], remote.WithContext(ctx)); err != nil {
			return "", fmt.Errorf("tag krmfn's images: %w", err)
		}
	}
	return pinned, nil
}

func reference(registry, image, tag string) string { return registry + "/krmfn/" + image + ":" + tag }

// WrapperImage is the reference of the wrapper server's image, for templates of function pods.
func (i *Installation) WrapperImage() string { return reference(i.Registry, "wrapper-server", i.tag) }
