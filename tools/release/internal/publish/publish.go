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

// Options say what to push where. Credentials are those of Docker and Helm.
type Options struct {
	// Dir has the release.
	Dir string
	// Versions and Release say what must be in it.
	Versions versions.Versions
	Release  versions.Release
	// Registry is the prefix of repositories, without the slash at the end.
	Registry string
	// PlainHTTP is for registries without TLS.
	PlainHTTP bool
	// AllowDirty is for releases of changes that are in no commit.
	AllowDirty bool
	// Log is told what was pushed.
	Log io.Writer
}

// Publish pushes the images of a release, their bills of materials, and the chart, and returns the references of all of them
// with their digests. What the registry has already stays as it is: to push the same again does no harm, and to push anything else to
// the same tag is an error, which is found before anything is pushed.
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

// reference is that of another tag, or of a digest, in the same repository.
func (t tag) reference(to string) string {
	return registry.Reference{Registry: t.Reference.Registry, Repository: t.Reference.Repository, Reference: to}.String()
}

// digest is what the registry has the tag for, or empty where it does not have it.
func (t tag) digest(ctx context.Context) (digest.Digest, error) {
	desc, err := t.Resolve(ctx, t.name)
	if err != nil && !errors.Is(err, errdef.ErrNotFound) {
		return "", fmt.Errorf("look for %s: %w", t, err)
	}
	return desc.Digest, nil
}
