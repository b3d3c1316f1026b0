// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sync/errgroup"
)

// maxAtOnce is the most images of an index that are read at once.
const maxAtOnce = 8

// child is an image of an index.
type child struct {
	v1.Descriptor
	// platform is the one of the index, or else of the config; nil where neither says, which counts as linux.
	platform *v1.Platform
	// image is what the config says, and err why it cannot be run.
	image Image
	err   error
	// missing is why it could not be read where the registry does not have it.
	missing error
	// other says that it is no image for linux after all.
	other bool
}

// readChildren reads manifests and configs, several at once.
func (r *reader) readChildren(ctx context.Context, children []*child) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxAtOnce)
	for _, c := range children {
		group.Go(func() (err error) {
			defer func() {
				// The recovery of the goroutine that asks does not reach this one.
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
	kind, err := artefact(manifest)
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

// get reads a manifest that an index names. Its type is the one that the index says, as it is for nodes.
func (r *reader) get(ctx context.Context, d v1.Descriptor) (*remote.Descriptor, error) {
	manifest, err := r.puller.Get(ctx, r.repository.Digest(d.Digest.String()))
	if err != nil {
		return nil, err
	}
	manifest.MediaType = d.MediaType
	return manifest, nil
}

// missing tells that a registry does not have what an index names, as mirrors of some platforms do not.
func missing(err error) bool {
	answer, ok := errors.AsType[*transport.Error](err)
	return ok && notFound(answer)
}
