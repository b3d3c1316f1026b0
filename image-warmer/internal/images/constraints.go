// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
)

// errNoTags says that constraints cannot be resolved.
var errNoTags = errors.New("its tag is a version constraint, and no registry is asked for the tags: give an exact tag")

// resolveConstraints adds the images that version constraints mean, each repository being asked for once. It is asked for under
// the name that the Kptfile has, as a render does, whatever the rewrites say.
func (f *finder) resolveConstraints(ctx context.Context, c Config) {
	repositories := slices.Sorted(maps.Keys(f.constraints))
	type listing struct {
		tags []string
		err  error
	}
	listings := make([]listing, len(repositories))
	var group errgroup.Group
	group.SetLimit(max(1, c.Parallel))
	for i, repository := range repositories {
		group.Go(func() error {
			if c.Tags == nil {
				listings[i].err = errNoTags
				return nil
			}
			ctx, cancel := context.WithTimeout(ctx, c.Timeout)
			defer cancel()
			listings[i].tags, listings[i].err = c.Tags.Tags(ctx, repository)
			return nil
		})
	}
	_ = group.Wait()
	for i, repository := range repositories {
		if err := listings[i].err; err != nil {
			f.unread(repository, fmt.Errorf("list the tags of %s, for a version constraint: %w", repository, err))
			continue
		}
		for _, constraint := range f.constraints[repository] {
			ref, err := constraint.Resolve(listings[i].tags)
			f.resolved(repository+":"+constraint.Versions, ref, err)
		}
	}
}
