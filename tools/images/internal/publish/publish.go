// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package publish pushes a release to a registry.
package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/krmfn/krmfn/tools/images/internal/release"
	"github.com/krmfn/krmfn/tools/images/internal/versions"
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

// Publish pushes the images of a release, what refers to them, and the chart, and returns what it pushed, as references with
// digests. What the registry has already stays as it is: to push the same again does no harm, and to push anything else to
// the same tag is an error, which is found before anything is pushed.
func Publish(ctx context.Context, o Options) (pushed []string, err error) {
	if err := release.Verify(o.Dir); err != nil {
		return nil, err
	}
	temporary, err := os.MkdirTemp("", "krmfn-publish-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	images, err := o.open(ctx, temporary)
	if err != nil {
		return nil, err
	}
	var packed *packedChart
	if o.Release.Chart {
		if packed, err = o.openChart(ctx); err != nil {
			return nil, err
		}
	}
	for _, i := range images {
		digest, err := o.pushImage(ctx, i)
		if err != nil {
			return nil, err
		}
		pushed = append(pushed, digest)
	}
	if packed == nil {
		return pushed, nil
	}
	digest, err := o.pushChart(packed)
	return append(pushed, digest), err
}

// open reads the images, and compares them with what the registry has.
func (o Options) open(ctx context.Context, temporary string) ([]opened, error) {
	images := make([]opened, 0, len(o.Release.Images))
	for _, image := range o.Release.Images {
		i, err := o.openImage(image, filepath.Join(temporary, image))
		if err != nil {
			return nil, err
		}
		there, err := o.digest(ctx, i.tag)
		if err != nil {
			return nil, err
		}
		if there != (v1.Hash{}) && there != i.Digest {
			return nil, fmt.Errorf("%s is there already, as %s: give %s another version in %s", i.tag, there, image, versions.File)
		}
		images = append(images, i)
	}
	return images, nil
}

// reference is the tag of an image or chart.
func (o Options) reference(repository, tag string) (name.Tag, error) {
	ref, err := name.NewTag(strings.TrimSuffix(o.Registry, "/")+"/"+repository+":"+tag, o.nameOptions()...)
	if err != nil {
		return name.Tag{}, fmt.Errorf("registry %q: %w", o.Registry, err)
	}
	return ref, nil
}

func (o Options) nameOptions() []name.Option {
	if o.PlainHTTP {
		return []name.Option{name.Insecure}
	}
	return nil
}

func remoteOptions(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}

// digest is what a tag in the registry means, or the zero value where it does not have it.
func (o Options) digest(ctx context.Context, ref name.Tag) (v1.Hash, error) {
	desc, err := remote.Head(ref, remoteOptions(ctx)...)
	var answer *transport.Error
	switch {
	case errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return v1.Hash{}, nil
	case err != nil:
		return v1.Hash{}, fmt.Errorf("look for %s: %w", ref, err)
	}
	return desc.Digest, nil
}
