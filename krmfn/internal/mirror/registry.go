// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"

	distribution "github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/services/images/reference"
)

// registryTarget is a registry, or a path in one. An image keeps all of its name below that, its registry too: one rule,
// REGISTRY=PREFIX/REGISTRY, rewrites the references of all images of a registry.
type registryTarget struct {
	client *registry.Client
	prefix string
}

// maxManifest is the most bytes of a manifest that is asked for to see whether it is there.
const maxManifest = 8 << 20

func openRegistry(prefix string, client *registry.Client) (Target, error) {
	prefix = strings.TrimRight(prefix, "/")
	if host, _, _ := strings.Cut(prefix, "/"); !strings.ContainsAny(host, ".:") && host != "localhost" {
		return nil, fmt.Errorf("%q names no registry: want REGISTRY/PREFIX, such as registry.example.org/mirror, or oci:DIR", prefix)
	}
	if err := reference.ValidatePrefix(prefix); err != nil {
		return nil, err
	}
	return registryTarget{client, prefix}, nil
}

// Name returns the reference of the copy, with the tag and the digest of the image. A hyphen replaces the colon in front of a
// registry's port, as a path has no colons.
func (t registryTarget) Name(ref string) (string, error) {
	named, err := distribution.ParseDockerRef(ref)
	if err != nil {
		return "", fmt.Errorf("function image reference %q is invalid: %w", ref, err)
	}
	repository, tag, digest := reference.Split(ref)
	target := t.prefix + "/" + strings.ReplaceAll(distribution.Domain(named), ":", "-") + "/" + distribution.Path(named)
	if _, err := distribution.ParseNormalizedNamed(target); err != nil {
		return "", fmt.Errorf("the copy of %s would be %q, which is no reference: choose a shorter prefix: %w", repository, target, err)
	}
	if tag != "" {
		target += ":" + tag
	}
	if digest != "" {
		target += "@" + digest
	}
	if tag == "" && digest == "" {
		target += ":" + reference.DefaultTag
	}
	return target, nil
}

func (t registryTarget) digest(ctx context.Context, ref string) (string, error) {
	target, err := t.Name(ref)
	if err != nil {
		return "", err
	}
	repository, tag, digest := reference.Split(target)
	there := digest
	if tag == "" {
		err = t.client.Pull(ctx, repository, digest, maxManifest, func(context.Context, *remote.Descriptor) error { return nil })
	} else {
		there, err = t.client.Digest(ctx, repository+":"+tag)
	}
	if errors.As(err, new(*registry.NotFoundError)) {
		return "", nil
	}
	return there, err
}

func (t registryTarget) write(ctx context.Context, ref string, from *remote.Descriptor) error {
	if !from.MediaType.IsIndex() && !from.MediaType.IsImage() {
		return &kindError{string(from.MediaType)}
	}
	target, err := t.Name(ref)
	if err != nil {
		return err
	}
	return t.client.Push(ctx, target, from)
}
