// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package publish pushes a release to a registry.
package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/krmfn/krmfn/tools/release/internal/release"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

// Options configure what to push, and where. docker login stores the credentials.
type Options struct {
	// Dir is the directory of the release.
	Dir string
	// Versions and Release define what Dir must contain.
	Versions versions.Versions
	Release  versions.Release
	// Registry is the prefix of repositories.
	Registry string
	// PlainHTTP disables TLS.
	PlainHTTP bool
	// AllowDirty allows images that were built with uncommitted changes.
	AllowDirty bool
	// Log receives a line for each pushed image and chart.
	Log io.Writer
}

// Publish pushes the images of a release, their bills of materials, and the chart. It returns their references with digests. Content that
// the registry already has is skipped. A tag with other content is an error, and Publish then pushes nothing.
func Publish(ctx context.Context, o Options) (pushed []string, err error) {
	if err := release.Verify(o.Dir); err != nil {
		return nil, err
	}
	images := make([]image, len(o.Release.Images))
	for i, name := range o.Release.Images {
		if images[i], err = o.openImage(ctx, name); err != nil {
			return nil, err
		}
	}
	var packed *packedChart
	if o.Release.Chart {
		if packed, err = o.openChart(ctx); err != nil {
			return nil, err
		}
	}
	for _, i := range images {
		references, err := o.pushImage(ctx, i)
		if err != nil {
			return nil, err
		}
		pushed = append(pushed, references...)
	}
	if packed == nil {
		return pushed, nil
	}
	reference, err := o.pushChart(packed)
	return append(pushed, reference), err
}

type tag struct {
	*remote.Repository

	name string
}

func (o Options) tag(repository, name string) (tag, error) {
	repo, err := remote.NewRepository(strings.TrimSuffix(o.Registry, "/") + "/" + repository)
	if err != nil {
		return tag{}, fmt.Errorf("registry %q: %w", o.Registry, err)
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return tag{}, fmt.Errorf("credentials for %s: %w", o.Registry, err)
	}
	repo.PlainHTTP = o.PlainHTTP
	repo.Client = &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credentials.Credential(store)}
	return tag{Repository: repo, name: name}, nil
}

func (t tag) String() string { return t.reference(t.name) }

// reference returns the reference of a tag or digest in the same repository.
func (t tag) reference(to string) string {
	return registry.Reference{Registry: t.Reference.Registry, Repository: t.Reference.Repository, Reference: to}.String()
}

// digest returns the digest of the tag in the registry, or "" if the tag does not exist.
func (t tag) digest(ctx context.Context) (digest.Digest, error) {
	desc, err := t.Resolve(ctx, t.name)
	if err != nil && !errors.Is(err, errdef.ErrNotFound) {
		return "", fmt.Errorf("look up %s: %w", t, err)
	}
	return desc.Digest, nil
}
