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

// TagLister lists the tags of a repository, which has its registry in front, in any order. It is called by several goroutines
// at once, and must end with the context. Tags beside an error are those that are known without asking the registry; they
// count where one of them satisfies, as local images do in kpt. A registry.Client is one.
type TagLister interface {
	Tags(ctx context.Context, repository string) ([]string, error)
}

// maxListings is how many repositories of a render are asked for at once.
const maxListings = 8

// images tells the references of functions.
type images struct {
	prefix   string
	resolved map[reference.Constraint]resolution
}

// resolution is the reference that a version constraint means, or why it has none.
type resolution struct {
	ref string
	err error
}

// resolveImages resolves all version constraints of functions, each repository being asked for once. What cannot be resolved
// is an error only when its function's turn comes.
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

// imageFunctions yields the functions of all pipelines that are images, in the order in which they will run.
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

// Preparer gets the images of functions ready ahead of need, and tells for each what will evaluate it. It returns soon, with
// images that are still starting.
type Preparer interface {
	Prepare(ctx context.Context, images []string) ([]*evaluatorv1.PreparedFunction, error)
}

// maxPrepare bounds how long a render waits for the answer: functions can run without it.
const maxPrepare = 5 * time.Second

// prepare hands over the images of all pipelines, each once, in the order in which they will run. What is wrong with one
// is said when its function's turn comes.
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
