// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/images/tags"
	"github.com/krmfn/krmfn/krmfn/internal/mirror"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/runtime"
)

type document struct {
	Images []*image `json:"images"`
}

// image is an image of the list.
type image struct {
	// Image is the reference; where a version constraint could not be resolved, as the Kptfile has it.
	Image string `json:"image"`
	// Digest is of the manifest or index in the registry; empty if it was not asked for or is not known.
	Digest string `json:"digest,omitempty"`
	// BuiltIn is name and version of the curated function that krmfn evaluates for the image; empty for none.
	BuiltIn string `json:"builtIn,omitempty"`
	// UsedBy are the functions that name the image, in the order in which they would run.
	UsedBy []use `json:"usedBy"`
	// Copy is the name of the copy that --copy-to has made or found; empty for none.
	Copy string `json:"copy,omitempty"`
	// Copied is whether the copy was made just now.
	Copied bool `json:"copied,omitempty"`
	// Signature is what --verify has found: verified, not required or failed; empty without it.
	Signature string `json:"signature,omitempty"`
	// Problem is why there is no reference, no digest, no good signature or no copy.
	Problem string `json:"problem,omitempty"`

	// resolved is whether Image is a reference.
	resolved bool
}

// use is a function that names an image.
type use struct {
	// Package is the directory of the package; "." for the root.
	Package string `json:"package"`
	// Name is the name of the function in the Kptfile; may be empty.
	Name string `json:"name,omitempty"`
	// Image and Tag are the fields of the function in the Kptfile.
	Image string `json:"image"`
	Tag   string `json:"tag,omitempty"`
}

// errOffline is what listing tags fails with when no registry may be asked.
var errOffline = errors.New("--offline asks no registry")

type offlineTags struct{}

func (offlineTags) Tags(context.Context, string) ([]string, error) { return nil, errOffline }

// list returns the images of a package and of those below it.
func (c *command) list(ctx context.Context, source packages.Source, client *registry.Client) ([]*image, error) {
	tree, err := packages.Open(source)
	if err != nil {
		return nil, err
	}
	plans, err := render.Plan(tree)
	if err != nil {
		return nil, err
	}
	var lister tags.Source = client
	if c.offline {
		lister = offlineTags{}
	}
	planned := render.PlannedImages(ctx, plans, render.Options{
		ImagePrefix: c.prefix, Tags: tags.WithBuiltin(lister, functions.All().Tags, c.prefix),
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	builtin := runtime.Builtin{Functions: functions.All(), Prefix: c.prefix}
	list := make([]*image, 0, len(planned))
	for _, p := range planned {
		i := &image{Image: p.Image, resolved: p.Err == nil}
		if p.Err != nil {
			i.Problem = p.Err.Error()
		} else if f, err := builtin.Lookup(p.Image); err == nil {
			i.BuiltIn = f.Implementation()
		}
		for _, u := range p.UsedBy {
			i.UsedBy = append(i.UsedBy, use{u.Package, u.Function.Name, u.Function.Image, u.Function.Tag})
		}
		list = append(list, i)
	}
	return list, nil
}

// maxAtOnce is the maximum number of concurrent requests to registries.
const maxAtOnce = 8

// resolve asks the registries for the digests of the images.
func resolve(ctx context.Context, client *registry.Client, list []*image) {
	var group errgroup.Group
	group.SetLimit(maxAtOnce)
	for _, i := range list {
		if !i.resolved || reference.IsLocal(i.Image) {
			continue
		}
		group.Go(func() error {
			digest, err := client.Digest(ctx, i.Image)
			if err != nil {
				i.Problem = err.Error()
			}
			i.Digest = digest
			return nil
		})
	}
	_ = group.Wait()
}

// copyAll copies the images of which the digests are known. Those on this machine stay where they are.
func (c *command) copyAll(ctx context.Context, client *registry.Client, list []*image, target mirror.Target) {
	for n, i := range list {
		if i.Digest == "" || i.Signature == signatureFailed || ctx.Err() != nil {
			continue
		}
		name, err := target.Name(i.Image)
		if err == nil && !mirror.Has(ctx, i.Image, i.Digest, target) {
			c.Note("[%d/%d] copying %s", n+1, len(list), i.Image)
			err = mirror.Copy(ctx, client, i.Image, i.Digest, target)
			i.Copied = err == nil
		}
		if err != nil {
			i.Problem = err.Error()
			continue
		}
		i.Copy = name
	}
}
