// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"fmt"
	"iter"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"golang.org/x/sync/errgroup"

	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/images/reference"
)

// TagLister lists the tags of a repository in any order. The repository includes its registry. Tags must be safe for concurrent
// use and return when the context ends. If it returns tags with an error, these are tags known without the registry; one of
// them is used if it satisfies the constraint, as kpt uses local images. registry.Client implements TagLister.
type TagLister interface {
	Tags(ctx context.Context, repository string) ([]string, error)
}

// maxListings is the maximum number of concurrent calls of TagLister in a render.
const maxListings = 8

// images resolves images of functions to references.
type images struct {
	prefix   string
	resolved map[reference.Constraint]resolution
}

// resolution is the reference for a version constraint, or the error of resolving it.
type resolution struct {
	ref string
	err error
}

// resolveImages resolves all version constraints of functions. It lists each repository once. An error of a constraint is
// returned only when its function is due.
func resolveImages(ctx context.Context, functions iter.Seq[*kptfilev1.Function], options Options) *images {
	i := &images{prefix: options.ImagePrefix, resolved: map[reference.Constraint]resolution{}}
	if options.Tags == nil {
		return i
	}
	constraints := map[string][]reference.Constraint{}
	for f := range functions {
		c, ok := reference.FunctionConstraint(f.Image, f.Tag, i.prefix)
		if _, known := i.resolved[c]; ok && !known {
			i.resolved[c] = resolution{}
			constraints[c.Repository] = append(constraints[c.Repository], c)
		}
	}
	listings := make(map[string]*listing, len(constraints))
	var group errgroup.Group
	group.SetLimit(maxListings)
	for repository := range constraints {
		l := &listing{}
		listings[repository] = l
		group.Go(func() error {
			l.tags, l.err = options.Tags.Tags(ctx, repository)
			return nil
		})
	}
	_ = group.Wait()
	for repository, l := range listings {
		for _, c := range constraints[repository] {
			i.resolved[c] = l.resolve(c)
		}
	}
	return i
}

func (i *images) of(f *kptfilev1.Function) (string, error) {
	if c, ok := reference.FunctionConstraint(f.Image, f.Tag, i.prefix); ok {
		if r, ok := i.resolved[c]; ok {
			return r.ref, r.err
		}
	}
	return reference.ForFunction(f.Image, f.Tag, i.prefix)
}

type listing struct {
	tags []string
	err  error
}

func (l *listing) resolve(c reference.Constraint) resolution {
	ref, err := c.Resolve(l.tags)
	if err != nil && l.err != nil {
		err = fmt.Errorf("`function.tag` %q of image %q is a version constraint, and the tags cannot be listed: %w", c.Versions, c.Repository, l.err)
	}
	return resolution{ref, err}
}

// imageFunctions yields the functions of all pipelines that have an image, in run order.
func (n *node) imageFunctions() iter.Seq[*kptfilev1.Function] {
	return func(yield func(*kptfilev1.Function) bool) {
		for _, m := range n.order() {
			mutators, validators := m.functions()
			for _, functions := range [][]kptfilev1.Function{mutators, validators} {
				for i := range functions {
					if f := &functions[i]; f.Image != "" && !yield(f) {
						return
					}
				}
			}
		}
	}
}

// Preparer prepares images of functions before they are needed, and returns for each image what will evaluate it. Prepare
// returns quickly, possibly while images are still starting.
type Preparer interface {
	Prepare(ctx context.Context, images []string) ([]*evaluatorv1.PreparedFunction, error)
}

// maxPrepare is the maximum duration of Prepare. Functions can run even if it has not succeeded.
const maxPrepare = 5 * time.Second

// prepare passes the images of all pipelines to the evaluator, without duplicates, in run order. It ignores errors, because a
// broken image is reported when its function is due.
func prepare(ctx context.Context, root *node, names *images, options Options) {
	preparer, ok := options.Evaluator.(Preparer)
	if !ok {
		return
	}
	all := root.images(names)
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxPrepare)
	defer cancel()
	_, _ = preparer.Prepare(ctx, all)
}

func (n *node) images(names *images) []string {
	var all []string
	seen := map[string]bool{}
	for f := range n.imageFunctions() {
		ref, err := names.of(f)
		if err == nil && !seen[ref] {
			seen[ref] = true
			all = append(all, ref)
		}
	}
	return all
}
