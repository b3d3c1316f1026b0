// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"
)

const (
	// maxDepth is the maximum nesting depth of indexes. Deeper ones are ignored.
	maxDepth = 2
	// maxIndexes is the maximum number of nested indexes that are read. More are ignored.
	maxIndexes = 16
	// maxChildBytes is the maximum size, in bytes, of a manifest or config in an index. Several are in memory at once.
	maxChildBytes = 2 << 20
)

// contents is what an index and its nested indexes contain.
type contents struct {
	children []*child
	// named are the platforms of children. If several images have one platform, nodes use the first.
	named map[string]bool
	// others are platforms on which function pods do not run.
	others []string
	// indexes is the number of nested indexes. missing is the error of one that the registry does not have.
	indexes int
	missing error
}

// readIndex returns the image for the architecture, or else the first one, with the platforms whose images have the same command and
// user.
func (r *reader) readIndex(ctx context.Context, manifest *remote.Descriptor) (Image, error) {
	ctx = withLimit(ctx, maxChildBytes)
	found := &contents{named: map[string]bool{}}
	if err := r.collect(ctx, manifest, 0, found); err != nil {
		return Image{}, err
	}
	found.limit(r.architecture)
	if err := r.readChildren(ctx, found.children); err != nil {
		return Image{}, err
	}
	found.dropMissing()
	if len(found.children) == 0 {
		return Image{}, cmp.Or(found.missing, notLinux(r.digest, found.others))
	}
	chosen := found.children[max(0, found.first(r.architecture))]
	if chosen.err != nil {
		return Image{}, chosen.err
	}
	image := chosen.image
	image.Platforms = found.platforms(image)
	for _, c := range found.children {
		image.Traits = image.Traits.And(c.image.Traits)
	}
	return image, nil
}

// collect finds the linux images in an index. It ignores attestations, whose platform is unknown/unknown, and other artefacts. An image
// without a platform counts as linux.
func (r *reader) collect(ctx context.Context, manifest *remote.Descriptor, depth int, found *contents) error {
	list, err := v1.ParseIndexManifest(bytes.NewReader(manifest.Manifest))
	if err != nil {
		return err
	}
	for _, d := range list.Manifests {
		switch p := d.Platform; {
		case d.Digest.Hex == "":
		case p != nil && (p.OS == "" || p.OS == "unknown" || !isPrintable(p)):
		case p != nil && p.OS != linux:
			found.others = append(found.others, p.String())
		case d.MediaType.IsImage() && (d.ArtifactType == "" || configTypes[types.MediaType(d.ArtifactType)]):
			found.add(d)
		case d.MediaType.IsIndex() && depth < maxDepth && found.indexes < maxIndexes:
			found.indexes++
			within, err := r.get(ctx, d)
			if err == nil {
				err = r.collect(ctx, within, depth+1, found)
			} else if missing(err) {
				found.missing, err = err, nil
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *contents) add(d v1.Descriptor) {
	// The name of an image without a platform is its digest.
	name := d.Digest.String()
	if d.Platform != nil {
		name = d.Platform.String()
	}
	if !f.named[name] {
		f.named[name] = true
		f.children = append(f.children, &child{Descriptor: d, platform: d.Platform})
	}
}

// limit drops images beyond maxPlatforms, but keeps the one for the architecture.
func (f *contents) limit(architecture string) {
	if len(f.children) <= maxPlatforms {
		return
	}
	if i := f.first(architecture); i >= maxPlatforms {
		f.children[maxPlatforms-1] = f.children[i]
	}
	f.children = f.children[:maxPlatforms]
}

// dropMissing drops images that the registry does not have, and images that are not for linux.
func (f *contents) dropMissing() {
	f.children = slices.DeleteFunc(f.children, func(c *child) bool {
		f.missing = cmp.Or(f.missing, c.missing)
		if c.other && c.platform != nil {
			f.others = append(f.others, c.platform.String())
		}
		return c.other || c.missing != nil
	})
}

// first returns the index of the first image for an architecture, or -1.
func (f *contents) first(architecture string) int {
	return slices.IndexFunc(f.children, func(c *child) bool {
		return c.platform != nil && c.platform.Architecture == architecture
	})
}

// platforms returns the platforms whose images have the same command and user.
func (f *contents) platforms(image Image) []string {
	var all []string
	for _, c := range f.children {
		if c.platform != nil && c.err == nil && c.image.User == image.User && slices.Equal(c.image.Command, image.Command) {
			all = append(all, c.platform.String())
		}
	}
	return all
}

// maxConcurrentReads is the maximum number of images of an index that are read concurrently.
const maxConcurrentReads = 8

type child struct {
	v1.Descriptor
	// platform is the platform in the index, or else in the config. It is nil if neither has one, which counts as linux.
	platform *v1.Platform
	// image is the image with this config. err is the reason if it cannot run.
	image Image
	err   error
	// missing is the error if the registry does not have the image.
	missing error
	// other means that it is not a linux image.
	other bool
}

// readChildren reads manifests and configs concurrently.
func (r *reader) readChildren(ctx context.Context, children []*child) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentReads)
	for _, c := range children {
		group.Go(func() (err error) {
			defer func() {
				// A recover in the calling goroutine does not catch panics of this one.
				if value := recover(); value != nil {
					err = fmt.Errorf("reading an image panicked: %v", value)
				}
			}()
			return r.readChild(ctx, c)
		})
	}
	return group.Wait()
}

func (r *reader) readChild(ctx context.Context, c *child) error {
	manifest, err := r.get(ctx, c.Descriptor)
	if missing(err) {
		c.missing = err
		return nil
	}
	if err != nil {
		return err
	}
	kind, err := artifactType(manifest)
	if kind != "" || err != nil {
		c.other = true
		return err
	}
	config, err := readConfig(manifest)
	if err != nil {
		return err
	}
	if c.platform == nil {
		c.platform = platformOf(config)
	}
	c.other = c.platform != nil && c.platform.OS != linux
	c.image, c.err = newImage(r.ref, r.digest, config.Config)
	return nil
}

// get reads a manifest in an index. Its media type is the one in the index, which nodes use, too.
func (r *reader) get(ctx context.Context, d v1.Descriptor) (*remote.Descriptor, error) {
	manifest, err := r.puller.Get(ctx, r.repository.Digest(d.Digest.String()))
	if err != nil {
		return nil, err
	}
	manifest.MediaType = d.MediaType
	return manifest, nil
}

// missing reports whether the error means that the registry lacks a part of an index. Mirrors may have only some platforms.
func missing(err error) bool {
	answer, ok := errors.AsType[*transport.Error](err)
	return ok && notFound(answer)
}
