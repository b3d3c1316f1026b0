// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"context"
	"slices"

	"github.com/krmfn/krmfn/services/images/reference"
)

// WithBuiltin returns a source for where functions are evaluated in process: when the other one fails, the function's own tags
// come beside the error. So a constraint that they satisfy needs no registry. own returns the tags of the function of a name in
// the catalog, nil where there is none. prefix is one more prefix under which the catalog's functions are known; may be empty.
func WithBuiltin(source Source, own func(name string) []string, prefix string) Source {
	return withBuiltin{source, own, prefix}
}

type withBuiltin struct {
	source Source
	own    func(name string) []string
	prefix string
}

// Tags lists the tags of a repository.
func (w withBuiltin) Tags(ctx context.Context, repository string) ([]string, error) {
	tags, err := w.source.Tags(ctx, repository)
	if err == nil {
		return tags, nil
	}
	return append(slices.Clip(tags), w.own(reference.CatalogName(repository, w.prefix))...), err
}
