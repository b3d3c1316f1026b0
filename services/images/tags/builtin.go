// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"context"
	"slices"

	"github.com/krmfn/krmfn/services/functions"
	"github.com/krmfn/krmfn/services/images/reference"
)

// WithBuiltin returns a source for where the curated functions are evaluated: when the other one fails, the tags of the
// function's own version come beside the error. So a constraint that this version satisfies needs no registry. prefix is
// one more prefix under which the catalog's functions are known; may be empty.
func WithBuiltin(source Source, prefix string) Source { return withBuiltin{source, prefix} }

type withBuiltin struct {
	source Source
	prefix string
}

// Tags lists the tags of a repository.
func (w withBuiltin) Tags(ctx context.Context, repository string) ([]string, error) {
	tags, err := w.source.Tags(ctx, repository)
	if err == nil {
		return tags, nil
	}
	if f, ok := functions.Lookup(reference.CatalogName(repository, w.prefix)); ok {
		tags = append(slices.Clip(tags), f.Tags...)
	}
	return tags, err
}
